//go:build !linux

package setup

import (
	"context"
	"errors"
	"os/exec"
)

// Not reached: Run returns an error before.

func lock(context.Context, string, func()) (func(), error) { return nil, errors.ErrUnsupported }

func output(cmd *exec.Cmd) ([]byte, error) { return cmd.CombinedOutput() }

func ownFolder(string) error { return nil }
