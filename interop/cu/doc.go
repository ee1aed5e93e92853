// Package cu shares GPU memory, streams and the context between gpk and
// programs that use gorgonia.org/cu: a cu.DevicePtr becomes an Array without
// a copy and an Array's memory a cu.DevicePtr, a stream of one side carries the
// work of the other, and both live in the device's primary context.
//
// It is for programs that use cu already; others need nothing of it. It is the
// one part of gpk that needs CUDA's headers and links the driver, and cu, when
// it is imported, starts the driver and ends the process where there is none.
// Therefore everything but Available is behind the build tag gorgonia_cu:
//
//	go build -tags gorgonia_cu ./...
//
// # Headers
//
// cu looks for cuda.h under /usr/local/cuda. Elsewhere, NVIDIA's wheels
// included, CGO_CPPFLAGS names the folder, and CGO_LDFLAGS that of libcuda.so
// where the linker does not find it:
//
//	CGO_CPPFLAGS="-I$CUDA_HOME/include" go build -tags gorgonia_cu ./...
//
// cu v0.9.6 was written for CUDA 12 and older: with the headers of CUDA 13 it
// does not compile. The folder cuda13 beside this file has a cuda.h that
// includes the real one and gives back the five names that changed. It goes
// first:
//
//	GPK_CU="$(go list -f '{{.Dir}}' github.com/gpk-go/gpk/interop/cu)"
//	CGO_CPPFLAGS="-I$GPK_CU/cuda13 -I$CUDA_HOME/include" go build -tags gorgonia_cu ./...
//
// Use CGO_CPPFLAGS rather than CGO_CFLAGS, which replaces Go's own -O2 -g.
//
// # Order
//
// gpk orders its own work among streams. It cannot see what cu starts: on one
// stream, that of an array (Stream) or one that both know (FromStream), the
// work of both sides runs in the order in which it was started; between
// streams, use events or synchronise. An array is started by Ptr, and by
// gpk.Eval.
package cu
