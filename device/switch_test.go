package device

import (
	"strings"
	"testing"
)

// TestSwitchesOfEnvironment checks that no device opens if a variable has an invalid
// value, and that the error names the variable.
func TestSwitchesOfEnvironment(t *testing.T) {
	driver := &testDriver{infos: []Info{h200(0)}}
	for _, name := range []string{"GPK_NO_TF32", "GPK_EAGER", "GPK_AUTOTUNE", "GPK_SUBMIT"} {
		good := "yes"
		if name == "GPK_SUBMIT" {
			good = "direct"
		}
		install(t, machine(driver, map[string]string{name: good}))
		for _, device := range []string{"cpu", "cuda"} {
			if _, err := Open(device); err != nil {
				t.Errorf("%s with %s=%s: %v", device, name, good, err)
			}
		}
		install(t, machine(driver, map[string]string{name: "rubbish"}))
		for _, device := range []string{"cpu", "cuda"} {
			_, err := Open(device)
			is(t, err, ErrDevice)
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "rubbish") {
				t.Errorf("%s with %s=rubbish: %v", device, name, err)
			}
		}
		is(t, Default().Err(), ErrDevice)
		if text := Explain(); !strings.Contains(text, name) {
			t.Errorf("Explain does not name %s:\n%s", name, text)
		}
	}
}
