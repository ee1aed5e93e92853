package dlpack

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/interop/internal/site"
)

// ToManaged computes the array, waits, and returns a new DLManagedTensor over its memory,
// with the array's shape and strides. Nothing is copied. The receiver calls its deleter;
// the package comment describes the sharing until then.
func ToManaged(a *gpk.Array) (unsafe.Pointer, error) {
	return export("ToManaged", a, toManaged)
}

// ToVersioned is ToManaged with the struct of DLPack 1.0, DLManagedTensorVersioned. Its
// flags are 0: the memory may be written, and is not a copy.
func ToVersioned(a *gpk.Array) (unsafe.Pointer, error) {
	return export("ToVersioned", a, toVersioned)
}

func export(name string, a *gpk.Array, to func(*gpk.Array) (unsafe.Pointer, error)) (unsafe.Pointer, error) {
	err := a.Err()
	if err == nil {
		var p unsafe.Pointer
		if p, err = to(a); err == nil {
			return p, nil
		}
	}
	return nil, site.Fail("dlpack", name, err)
}

// FromManaged returns an array over the elements of a DLManagedTensor, on the CPU or on the
// GPU that the tensor names. Nothing is copied. FromManaged takes ownership of the tensor,
// even if it fails: the tensor's deleter is called once.
//
// Types that gpk does not have are ErrDType, other devices are ErrDevice, and elements that
// are not aligned to their size are ErrUnsupported.
func FromManaged(p unsafe.Pointer) *gpk.Array {
	m := (*managed)(p)
	if m == nil {
		return failed("FromManaged", errNil)
	}
	a, err := take(&m.tensor, sync.OnceFunc(func() { callDeleter(m.deleter, p) }), false)
	if err != nil {
		return failed("FromManaged", err)
	}
	return a
}

// FromVersioned is FromManaged with the struct of DLPack 1.0, DLManagedTensorVersioned.
// Read-only memory is copied. A major version other than 1 is ErrUnsupported.
func FromVersioned(p unsafe.Pointer) *gpk.Array {
	m := (*versioned)(p)
	if m == nil {
		return failed("FromVersioned", errNil)
	}
	release := sync.OnceFunc(func() { callDeleter(m.deleter, p) })
	if m.major != major {
		err := fmt.Errorf("%w: DLPack %d.%d, not %d", gpk.ErrUnsupported, m.major, m.minor, major)
		release()
		return failed("FromVersioned", err)
	}
	a, err := take(&m.tensor, release, m.flags&readOnly != 0)
	if err != nil {
		return failed("FromVersioned", err)
	}
	return a
}

// DeleteManaged calls the deleter of a DLManagedTensor that no library has taken over. A
// nil pointer is ignored.
func DeleteManaged(p unsafe.Pointer) {
	if m := (*managed)(p); m != nil {
		callDeleter(m.deleter, p)
	}
}

// DeleteVersioned is DeleteManaged for a DLManagedTensorVersioned.
func DeleteVersioned(p unsafe.Pointer) {
	if m := (*versioned)(p); m != nil {
		callDeleter(m.deleter, p)
	}
}

var errNil = fmt.Errorf("%w: a nil tensor", gpk.ErrShape)

// failed returns an array that carries an error of the exported function with a name.
func failed(name string, err error) *gpk.Array {
	return array.Failed(site.Fail("dlpack", name, err))
}
