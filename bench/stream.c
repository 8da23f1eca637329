// The bandwidth that a loop can reach: STREAM's triad, a = b + s * c, with non-temporal stores where the compiler's
// target has them. Prints bytes a second, 12 an element, of the best of a few runs.
//   cc -O3 -march=native -fopenmp stream.c -o stream && ./stream 16777216
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

static void triad(float* a, const float* b, const float* c, float s, size_t n) {
#if defined(__AVX512F__)
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; i += 16)
    _mm512_stream_ps(a + i,
                     _mm512_add_ps(_mm512_load_ps(b + i), _mm512_mul_ps(_mm512_set1_ps(s), _mm512_load_ps(c + i))));
#elif defined(__AVX__)
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; i += 8)
    _mm256_stream_ps(a + i,
                     _mm256_add_ps(_mm256_load_ps(b + i), _mm256_mul_ps(_mm256_set1_ps(s), _mm256_load_ps(c + i))));
#else
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
#endif
}

// Huge pages where the system gives them: nothing shall be in the way of memory itself.
static float* make(size_t n) {
  float* p = aligned_alloc(2 << 20, n * sizeof(float));
  if (p == NULL) exit(1);
#ifdef MADV_HUGEPAGE
  madvise(p, n * sizeof(float), MADV_HUGEPAGE);
#endif
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; ++i) p[i] = 1.0f;
  return p;
}

int main(int argc, char** argv) {
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 24;
  n = (n + (1 << 19) - 1) >> 19 << 19;  // whole huge pages
  float *a = make(n), *b = make(n), *c = make(n);
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    double start = omp_get_wtime();
    triad(a, b, c, 3.0f, n);
    double took = omp_get_wtime() - start;
    if (took < best) best = took;
  }
  printf("%.6g\n", a[n - 1] == 4.0f ? 12.0 * n / best : 0.0);
  return 0;
}
