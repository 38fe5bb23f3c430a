// The kernels of a GPU on a processor, for tests: every thread of a block is a context of its own, and they take turns at
// each __syncthreads(). Slow, and blind to races, but the arithmetic, the indexing and the order are the GPU's.

#include <ucontext.h>

#include <cstdlib>
#include <vector>

struct Dim { unsigned x, y, z; };
static Dim threadIdx, blockIdx;
static double* shared_sums;
static ucontext_t scheduler;
static std::vector<ucontext_t> contexts;
static std::vector<char> done;
static unsigned current;

#define __global__
#define __device__ static
#define __shared__ static
static void __syncthreads() { swapcontext(&contexts[current], &scheduler); }
static double __dadd_rn(double a, double b) { volatile double sum = a + b; return sum; }
static double __dmul_rn(double a, double b) { volatile double product = a * b; return product; }
static int atomicAdd(int* at, int by) { const int before = *at; *at += by; return before; }

// `extern __shared__ double sums[]` names memory whose size the launch decides.
#define extern_sums double* const sums = shared_sums
#include "kernels.cu"

static const void* const* arguments;
template <typename T> static T argument(int i) { return *static_cast<const T*>(arguments[i]); }

#define COMMON                                                                                                      \
  argument<const int*>(0), argument<const double*>(1), argument<const long long*>(2), argument<const int*>(3),      \
      argument<const int*>(4), argument<int>(5), argument<const long long*>(6), argument<const int*>(7),            \
      argument<const double*>(8), argument<const unsigned char*>(9), argument<int>(10), argument<int>(11),          \
      argument<int>(12), argument<double*>(13), argument<int>(14), argument<int>(15)

static int which;
static void enter() {
  if (which == 0) maxima(COMMON);
  else collect(COMMON, argument<const double*>(16), argument<int>(17), argument<int>(18), argument<int*>(19),
               argument<int*>(20), argument<double*>(21));
  done[current] = 1;
}

extern "C" void launch(int kernel, int queries, int blocks, const void* const* args) {
  constexpr size_t kStack = 1 << 16;
  std::vector<double> sums(BLOCK_DOCS);
  std::vector<char> stacks(kStack * THREADS);
  shared_sums = sums.data();
  arguments = args;
  which = kernel;
  for (int query = 0; query < queries; query++) {
    for (int block = 0; block < blocks; block++) {
      blockIdx = {unsigned(query), unsigned(block), 0};
      for (double& sum : sums) sum = 1e300;  // what an earlier block left must not matter
      contexts.assign(THREADS, {});
      done.assign(THREADS, 0);
      for (unsigned t = 0; t < THREADS; t++) {
        getcontext(&contexts[t]);
        contexts[t].uc_stack.ss_sp = stacks.data() + t * kStack;
        contexts[t].uc_stack.ss_size = kStack;
        contexts[t].uc_link = &scheduler;
        makecontext(&contexts[t], enter, 0);
      }
      for (unsigned left = THREADS; left;) {
        unsigned ended = 0;
        for (current = 0; current < THREADS; current++) {
          if (done[current]) continue;
          threadIdx = {current, 0, 0};
          swapcontext(&scheduler, &contexts[current]);
          ended += done[current];
        }
        if (ended && ended != left) abort();  // some wait for the others, who are gone: a GPU would hang
        left -= ended;
      }
    }
  }
}
