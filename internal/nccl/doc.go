// Package nccl binds NVIDIA's NCCL, which is opened at run time (internal/dynlib): communicators
// of GPUs, and the calls that enqueue work on a stream. Package dist decides when NCCL is used.
package nccl
