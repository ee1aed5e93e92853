//go:build race

package gpktest

const raceDetector = true
