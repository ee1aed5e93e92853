// Package cu shares GPU memory, streams and the context between gpk and programs that use
// gorgonia.org/cu. A cu.DevicePtr becomes an Array without a copy, and an Array's memory a
// cu.DevicePtr. A stream of one side runs the work of the other, and both use the device's
// primary context.
//
// It is for programs that already use cu. No other part of gpk needs CUDA's headers or links
// the driver. Importing cu starts the driver and ends the process if there is none. Therefore
// everything but Available is behind the build tag gorgonia_cu:
//
//	go build -tags gorgonia_cu ./...
//
// # Headers
//
// cu looks for cuda.h under /usr/local/cuda. For headers elsewhere, such as those of NVIDIA's
// wheels, name the folder in CGO_CPPFLAGS, and that of libcuda.so in CGO_LDFLAGS if the
// linker does not find it:
//
//	CGO_CPPFLAGS="-I$CUDA_HOME/include" go build -tags gorgonia_cu ./...
//
// cu v0.9.6 was written for CUDA 12 and older, and does not compile with the headers of CUDA
// 13. The folder cuda13 beside this file has a cuda.h that includes the real one and defines
// the five names that changed. It must come first:
//
//	GPK_CU="$(go list -f '{{.Dir}}' github.com/gpk-go/gpk/interop/cu)"
//	CGO_CPPFLAGS="-I$GPK_CU/cuda13 -I$CUDA_HOME/include" go build -tags gorgonia_cu ./...
//
// Use CGO_CPPFLAGS rather than CGO_CFLAGS, which replaces Go's own -O2 -g.
//
// # Order
//
// gpk orders its own work among streams. It cannot see the work that cu starts. On one
// stream, that of an array (Stream) or one that both sides use (FromStream), the work of both
// runs in the order in which it was started. Between streams, use events or synchronise. Ptr
// and gpk.Eval start the computation of an array.
package cu
