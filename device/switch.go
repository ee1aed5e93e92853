package device

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/internal/submit"
)

// ParseSwitch reads what turns something on or off: 1, t, true, y, yes and on, 0, f,
// false, n, no and off, in any case. No text is off; other texts are ErrDevice.
func ParseSwitch(text string) (on bool, err error) {
	s := strings.ToLower(strings.TrimSpace(text))
	switch s {
	case "y", "yes", "on":
		return true, nil
	case "", "n", "no", "off":
		return false, nil
	}
	if on, err = strconv.ParseBool(s); err != nil {
		return false, errorf("%q is neither on nor off, such as 1 and 0, true and false, yes and no", text)
	}
	return on, nil
}

// Switched reports whether an environment variable turns on what it names. Open refuses
// to work where the text of one is no switch; before, that is off.
func Switched(variable string) bool {
	on, _ := ParseSwitch(os.Getenv(variable))
	return on
}

// switches are the variables that ParseSwitch reads.
var switches = []string{"GPK_NO_TF32", "GPK_EAGER", "GPK_AUTOTUNE"}

// checkSwitches returns the error of a variable of the environment that means nothing.
func (s *system) checkSwitches() error {
	for _, name := range switches {
		if _, err := ParseSwitch(s.getenv(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if text := s.getenv("GPK_SUBMIT"); !submit.Known(text) {
		return fmt.Errorf("GPK_SUBMIT: %w", errorf("%q is neither direct nor always", text))
	}
	return nil
}
