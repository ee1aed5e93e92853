//go:build !race

package gpktest

const raceDetector = false
