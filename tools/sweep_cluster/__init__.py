"""A sweep on many machines: recto says what is left and keeps what is done, Dask distributes it."""
