//go:build !cgo || !(amd64 || arm64)

package dlpack

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk"
)

var errNoCgo = fmt.Errorf("%w: DLPack's deleters are functions of C, and this program was built without cgo or for a processor other than amd64 and arm64", gpk.ErrUnsupported)

func toManaged(*gpk.Array) (unsafe.Pointer, error) { return nil, errNoCgo }

func toVersioned(*gpk.Array) (unsafe.Pointer, error) { return nil, errNoCgo }

func callDeleter(_, _ unsafe.Pointer) {}

func take(_ *tensor, _ func(), _ bool) (*gpk.Array, error) { return nil, errNoCgo }
