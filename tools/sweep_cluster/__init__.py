"""A sweep on many machines: recto plans runs and stores results, Dask distributes the runs."""
