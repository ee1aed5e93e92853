//go:build race

package quantum

const raceDetector = true
