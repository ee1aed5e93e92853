package cpu

// Predicates of VCMPPS and VCMPPD. All but equal, unequal and unordered signal no exception for a quiet NaN either. Only
// unequal, unordered and notLessEqual are true if an operand is NaN.
const (
	equal        = 0x00
	unordered    = 0x03
	unequal      = 0x04
	less         = 0x11
	lessEqual    = 0x12
	notLessEqual = 0x16
	notEqual     = 0x1c // ordered
	greaterEqual = 0x1d
	greater      = 0x1e
)
