// Package gpktest is the conformance suite: Run tests every operation, type
// and layout of gpk on the device it is given, against naive references in
// float64 or wrapping integers. CPU and GPU pass the same suite.
//
// Every test that needs a device is here, including those of the packages above gpk,
// so that the suite is one test binary that runs on a machine with only
// a driver. Tests of pure logic are in the package that they test.
//
// With -gpktest.sanitize, which takes a regular expression of kernel names, the
// test Sanitize launches each kernel of the library once on small operands, in
// seconds under NVIDIA's compute-sanitizer:
//
//	compute-sanitizer --tool memcheck ./gpktest.test -test.run Sanitize -gpktest.sanitize .
package gpktest
