// Exact scores of a batch of queries on a GPU, block by block, without ever writing all sums to memory.
//
// A thread block has one query and BLOCK_DOCS consecutive documents of a part; their sums lie in shared memory. Lists are
// added one after the other, in the order of the query's terms, and all threads wait between two of them: a list has a
// document once, so no sum is touched twice in between, and every sum grows in one order, the processor's. Products and
// sums are rounded one by one (no fused multiply-add).
//
// `maxima` keeps the best score of every bucket of neighbouring documents. The k-th best of these is a score that at least
// k documents reach, so `collect` adds up once more only the blocks that have such a bucket, and writes down who reaches it.
//
// Compiled when an index is first moved to a GPU; BLOCK_DOCS and THREADS are put in front of it.

#define AT_A_TIME 256  // terms whose places are looked up at a time
#define AHEAD 4        // lists of which every thread fetches a posting before it waits for the first

struct Lists {
  const int* docs;          // of all postings of the part, by term, counted from the part's first document
  const double* impacts;    // what each is worth before the query's weight
  const long long* start;   // where each term's postings begin, and where the last one's end
  const int* row;           // the row of `cuts` of each term; -1: its list is short, and read by every block
  const int* cuts;          // how many postings of a list lie before each block; a row has `width` of them
  int width;
};

__device__ void add(double* sums, int doc, double weight, double impact) {
  if ((unsigned)doc < BLOCK_DOCS) sums[doc] = __dadd_rn(sums[doc], __dmul_rn(weight, impact));
}

// The sums of a query for the documents of a block; all threads have seen them when it returns.
__device__ void add_up(
    double* sums, const Lists lists, const int block, const int* slots, const double* weights, const int n_terms,
    const unsigned char* hidden, const int n_docs) {
  __shared__ long long begin[AT_A_TIME];
  __shared__ int size[AT_A_TIME];
  __shared__ double weight[AT_A_TIME];
  const int me = threadIdx.x, first = block * BLOCK_DOCS;
  for (int i = me; i < BLOCK_DOCS; i += THREADS) sums[i] = 0.0;
  for (int chunk = 0; chunk < n_terms; chunk += AT_A_TIME) {
    const int n = n_terms - chunk < AT_A_TIME ? n_terms - chunk : AT_A_TIME;
    __syncthreads();
    for (int j = me; j < n; j += THREADS) {
      const int slot = slots[chunk + j], r = lists.row[slot];
      long long from = lists.start[slot], to = lists.start[slot + 1];
      if (r >= 0) {
        const int* cut = lists.cuts + (long long)r * lists.width + block;
        to = from + cut[1];
        from += cut[0];
      }
      begin[j] = from;
      size[j] = (int)(to - from);
      weight[j] = weights[chunk + j];
    }
    __syncthreads();
    for (int j = 0; j < n; j += AHEAD) {
      int doc[AHEAD];
      double impact[AHEAD];
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        doc[u] = -1;
        if (j + u < n && me < size[j + u]) {
          doc[u] = lists.docs[begin[j + u] + me] - first;
          impact[u] = lists.impacts[begin[j + u] + me];
        }
      }
#pragma unroll
      for (int u = 0; u < AHEAD; u++) {
        if (j + u < n && size[j + u] > 0) {  // the same for all threads, so all of them wait or none
          if (doc[u] >= 0) add(sums, doc[u], weight[j + u], impact[u]);
          const int* docs = lists.docs + begin[j + u];
          const double* impacts = lists.impacts + begin[j + u];
#pragma unroll 4
          for (int i = me + THREADS; i < size[j + u]; i += THREADS)
            add(sums, docs[i] - first, weight[j + u], impacts[i]);
          __syncthreads();
        }
      }
    }
  }
  __syncthreads();
  if (hidden) {
    for (int i = me; i < BLOCK_DOCS && first + i < n_docs; i += THREADS)
      if (hidden[first + i]) sums[i] = 0.0;
    __syncthreads();
  }
}

extern "C" __global__ void maxima(
    const int* docs, const double* impacts, const long long* start, const int* row, const int* cuts, const int width,
    const long long* queries, const int* slots, const double* weights, const unsigned char* hidden, const int is_hidden,
    const int n_docs, const int buckets, double* best, const int columns, const int column) {
  extern __shared__ double sums[];
  const int me = threadIdx.x, block = blockIdx.y;
  const long long query = blockIdx.x, from = queries[query];
  const Lists lists = {docs, impacts, start, row, cuts, width};
  add_up(sums, lists, block, slots + from, weights + from, (int)(queries[query + 1] - from),
         is_hidden ? hidden : 0, n_docs);
  for (int half = BLOCK_DOCS / buckets / 2; half > 0; half /= 2) {
    const int whole = BLOCK_DOCS / buckets;
    for (int i = me; i < buckets * half; i += THREADS) {
      double* at = sums + i / half * whole + i % half;
      if (at[half] > *at) *at = at[half];
    }
    __syncthreads();
  }
  for (int i = me; i < buckets; i += THREADS)
    best[query * columns + column + block * buckets + i] = sums[i * (BLOCK_DOCS / buckets)];
}

extern "C" __global__ void collect(
    const int* docs, const double* impacts, const long long* start, const int* row, const int* cuts, const int width,
    const long long* queries, const int* slots, const double* weights, const unsigned char* hidden, const int is_hidden,
    const int n_docs, const int buckets, const double* best, const int columns, const int column,
    const double* least, const int first, const int room, int* count, int* ids, double* scores) {
  extern __shared__ double sums[];
  __shared__ int wanted;
  const int me = threadIdx.x, block = blockIdx.y;
  const long long query = blockIdx.x, from = queries[query];
  const double floor = least[query];
  if (me == 0) wanted = 0;
  __syncthreads();
  for (int i = me; i < buckets; i += THREADS) {
    const double found = best[query * columns + column + block * buckets + i];
    if (found > 0.0 && found >= floor) wanted = 1;
  }
  __syncthreads();
  if (!wanted) return;
  const Lists lists = {docs, impacts, start, row, cuts, width};
  add_up(sums, lists, block, slots + from, weights + from, (int)(queries[query + 1] - from),
         is_hidden ? hidden : 0, n_docs);
  for (int i = me; i < BLOCK_DOCS; i += THREADS) {
    if (sums[i] > 0.0 && sums[i] >= floor) {
      const int at = atomicAdd(count + query, 1);
      if (at < room) {
        ids[query * room + at] = first + block * BLOCK_DOCS + i;
        scores[query * room + at] = sums[i];
      }
    }
  }
}
