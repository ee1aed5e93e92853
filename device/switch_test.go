package device

import (
	"strings"
	"testing"
)

// TestParseSwitch tries what turns something on, what off, and what is no switch.
func TestParseSwitch(t *testing.T) {
	for want, texts := range map[bool][]string{
		true:  {"1", "t", "T", "true", "TRUE", "y", "yes", "Yes", "on", " ON "},
		false: {"", " ", "0", "f", "false", "False", "n", "no", "NO", "off"},
	} {
		for _, text := range texts {
			if on, err := ParseSwitch(text); on != want || err != nil {
				t.Errorf("%q: %v, %v; want %v", text, on, err, want)
			}
		}
	}
	for _, text := range []string{"2", "-1", "yess", "x", "1 1", "nein", "tf32"} {
		on, err := ParseSwitch(text)
		if on || err == nil {
			t.Errorf("%q: %v, %v; want an error", text, on, err)
			continue
		}
		is(t, err, ErrDevice)
	}
	t.Setenv("GPK_EAGER", "yes")
	if !Switched("GPK_EAGER") {
		t.Error("yes is off")
	}
	t.Setenv("GPK_EAGER", "nothing that is known")
	if Switched("GPK_EAGER") {
		t.Error("what means nothing is on")
	}
}

// TestSwitchesOfEnvironment: no device works where a variable means nothing, and the
// error says which.
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
