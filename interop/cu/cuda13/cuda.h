/* cuda.h in front of CUDA 13's, for gorgonia.org/cu v0.9.6.
 *
 * CUDA 13 gave the plain names of five functions that cu calls to versions with
 * other parameters. The driver still has the old ones; this header gives their
 * names back. With older headers it adds nothing.
 */
#ifndef GPK_SHADOW_CUDA_H
#define GPK_SHADOW_CUDA_H
#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#ifdef __cplusplus
extern "C" {
#endif

#undef cuCtxCreate
#define cuCtxCreate cuCtxCreate_v2
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);

#undef cuMemAdvise
CUresult CUDAAPI cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device);

#undef cuMemPrefetchAsync
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream);

#undef cuGraphGetEdges
CUresult CUDAAPI cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges);

#undef cuGraphAddDependencies
CUresult CUDAAPI cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                        size_t numDependencies);

#ifdef __cplusplus
}
#endif

#endif
#endif
