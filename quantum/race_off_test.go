//go:build !race

package quantum

const raceDetector = false
