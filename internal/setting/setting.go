// Package setting reads the environment variables that turn something on or off.
package setting

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Parse reads the text of a switch: 1, t, true, y, yes and on, 0, f,
// false, n, no and off, in any case. No text is off; other texts are an error.
func Parse(text string) (on bool, err error) {
	s := strings.ToLower(strings.TrimSpace(text))
	switch s {
	case "y", "yes", "on":
		return true, nil
	case "", "n", "no", "off":
		return false, nil
	}
	if on, err = strconv.ParseBool(s); err != nil {
		return false, fmt.Errorf("%q is neither on nor off, such as 1 and 0, true and false, yes and no", text)
	}
	return on, nil
}

// On reports whether an environment variable is set to on. An invalid text counts as off;
// device.Open returns its error.
func On(variable string) bool {
	on, _ := Parse(os.Getenv(variable))
	return on
}
