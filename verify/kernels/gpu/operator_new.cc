// operator new for programs whose kernels run on a GPU: kernels access the heap, which becomes
// managed memory on request. Slabs are cut into pieces whose sizes are powers of two; freed pieces
// are reused by size.

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "verify/kernels/gpu/managed_memory.h"

namespace {

constexpr std::size_t kSlabBytes = std::size_t{256} << 20;
constexpr std::size_t kLeastBytes = 64;

// Precedes each piece.
struct alignas(kLeastBytes) Header {
  std::size_t bytes = 0;  // of the piece, header included; 0: from malloc
  Header* next = nullptr;
};

class ManagedHeap {
 public:
  // Null if there is no GPU, or if CUDA itself allocates during this call. CUDA is called without
  // the lock, because it may free earlier pieces meanwhile.
  Header* take(std::size_t bytes) {
    static thread_local bool is_within = false;
    if (is_within) return nullptr;
    const std::size_t whole = std::bit_ceil(bytes);
    if (Header* const piece = cut(whole)) return piece;
    const std::size_t slab_bytes = whole > kSlabBytes ? whole : kSlabBytes;
    is_within = true;
    void* const slab = recto::verify::gpu::managed_memory(slab_bytes);
    is_within = false;
    return slab == nullptr ? nullptr : cut_first(slab, slab_bytes, whole);
  }

  void give_back(Header* piece) {
    const std::lock_guard lock(mutex_);
    Header*& list = list_of(piece->bytes);
    piece->next = list;
    list = piece;
  }

 private:
  Header*& list_of(std::size_t bytes) {
    return free_[static_cast<std::size_t>(std::countr_zero(bytes))];
  }

  // `bytes` is a power of two. Null if a new slab is needed.
  Header* cut(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Header*& list = list_of(bytes);
    if (list != nullptr) {
      Header* const piece = list;
      list = piece->next;
      return piece;
    }
    return bytes > left_ ? nullptr : cut_slab(bytes);
  }

  // The rest of the previous slab, or of another thread's new one, is lost.
  Header* cut_first(void* slab, std::size_t slab_bytes, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    at_ = static_cast<std::byte*>(slab);
    left_ = slab_bytes;
    return cut_slab(bytes);
  }

  Header* cut_slab(std::size_t bytes) {
    auto* const piece = new (at_) Header{.bytes = bytes};
    at_ += bytes;
    left_ -= bytes;
    return piece;
  }

  std::mutex mutex_;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  std::array<Header*, 64> free_ = {};
};

std::atomic<bool> is_managed = false;

// Never destroyed, because other objects are destroyed later.
ManagedHeap& heap() {
  alignas(ManagedHeap) static std::byte memory[sizeof(ManagedHeap)];
  static ManagedHeap* const kHeap = new (memory) ManagedHeap;
  return *kHeap;
}

[[noreturn]] void end_out_of_memory() {
  if (const std::new_handler handler = std::get_new_handler()) handler();
  std::abort();
}

void* allocate(std::size_t bytes) {
  const std::size_t whole = bytes + sizeof(Header);
  Header* piece = is_managed ? heap().take(whole) : nullptr;
  if (piece == nullptr) {
    void* memory =
        std::aligned_alloc(kLeastBytes, (whole + kLeastBytes - 1) / kLeastBytes * kLeastBytes);
    if (memory == nullptr) end_out_of_memory();
    piece = new (memory) Header;
  }
  return piece + 1;
}

void release(void* memory) {
  if (memory == nullptr) return;
  Header* piece = static_cast<Header*>(memory) - 1;
  if (piece->bytes == 0) {
    std::free(piece);
  } else {
    heap().give_back(piece);
  }
}

}  // namespace

namespace recto::verify::gpu {

void manage_heap() { is_managed = true; }
bool is_heap_managed() { return is_managed; }

}  // namespace recto::verify::gpu

// Over-aligned types keep the library's own operators.
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t /*bytes*/) noexcept { release(memory); }
