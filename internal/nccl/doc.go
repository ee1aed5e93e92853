// Package nccl binds NVIDIA's NCCL, which is opened at run time (internal/dynlib): communicators
// of GPUs, and the collective calls that enqueue work on a stream. Package dist says when they are used.
package nccl
