// Package gpktest is the conformance suite: Run tests every operation, type
// and layout of gpk on the device it is given, against naive references in
// float64 or wrapping integers. CPU and GPU pass the same suite.
//
// Every test that needs a device lives here, those of the packages above gpk
// too, so that the suite is one test binary which runs on a machine with only
// a driver. Tests of pure logic stay with the package that they test.
package gpktest
