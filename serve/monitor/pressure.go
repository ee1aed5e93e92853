package monitor

import "github.com/gpk-go/gpk/internal/enum"

// Pressure is a level of the use of a device's memory.
type Pressure uint8

// The levels, by the fraction of the memory that is used.
const (
	Low      Pressure = iota // below 60 %
	Moderate                 // from 60 %
	High                     // from 80 %
	Critical                 // from 90 %
)

// The fractions of the memory at which a level begins, and those between which the pool
// is trimmed once.
const (
	moderateFrom = 0.60
	highFrom     = 0.80
	criticalFrom = 0.90

	trimFrom   = 0.85
	armedBelow = 0.80
)

// String returns "low", "moderate", "high" or "critical".
func (p Pressure) String() string {
	return enum.Name(p, "Pressure", "low", "moderate", "high", "critical")
}

// pressureOf returns the level for a used fraction from 0 to 1.
func pressureOf(used float64) Pressure {
	switch {
	case used >= criticalFrom:
		return Critical
	case used >= highFrom:
		return High
	case used >= moderateFrom:
		return Moderate
	}
	return Low
}
