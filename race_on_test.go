//go:build race

package gpk_test

const raceEnabled = true
