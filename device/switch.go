package device

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/setting"
	"github.com/gpk-go/gpk/internal/submit"
)

// switches are the environment variables that setting.Parse reads.
var switches = []string{"GPK_NO_TF32", "GPK_EAGER", "GPK_AUTOTUNE"}

// checkSwitches returns an error if an environment variable has an invalid value.
func (s *system) checkSwitches() error {
	for _, name := range switches {
		if _, err := setting.Parse(s.getenv(name)); err != nil {
			return fmt.Errorf("%s: %w", name, errorf("%w", err))
		}
	}
	if text := s.getenv("GPK_SUBMIT"); !submit.Known(text) {
		return fmt.Errorf("GPK_SUBMIT: %w", errorf("%q is neither direct nor always", text))
	}
	return nil
}
