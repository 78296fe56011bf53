// libgcc's archive, by which exceptions are caught, finds a function's frame by _dl_find_object of
// glibc 2.35. This one does the same by dl_iterate_phdr, which all versions have.

#include <dlfcn.h>
#include <link.h>

#include <cstddef>

#if __GLIBC_PREREQ(2, 35)

namespace {

struct Wanted {
  ElfW(Addr) address;
  dl_find_object* found;
};

// Not 0, and `found` filled, if the object has the address.
int find_in(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  const auto& wanted = *static_cast<const Wanted*>(data);
  bool has_address = false;
  void* frames = nullptr;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const ElfW(Addr) begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) frames = reinterpret_cast<void*>(begin);
    if (part.p_type != PT_LOAD || wanted.address - begin >= part.p_memsz) continue;
    has_address = true;
    wanted.found->dlfo_map_start = reinterpret_cast<void*>(begin);
    wanted.found->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
  }
  wanted.found->dlfo_eh_frame = frames;
  return has_address && frames != nullptr ? 1 : 0;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  *found = {};
  Wanted wanted{reinterpret_cast<ElfW(Addr)>(address), found};
  return dl_iterate_phdr(find_in, &wanted) != 0 ? 0 : -1;
}

#endif
