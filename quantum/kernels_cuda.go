package quantum

import (
	"cmp"
	"sync"

	"github.com/gpk-go/gpk/device"
	entries "github.com/gpk-go/gpk/device/kernels"
)

// gpuKernels are the entry points of libgpk_quantum.so on one GPU.
type gpuKernels struct {
	angles        *entries.Entry[anglesArgs]
	slots         *entries.Entry[slotsArgs]
	pass          *entries.Entry[passArgs]
	norms         *entries.Entry[normsArgs]
	closedForm    *entries.Entry[closedFormArgs]
	epilogue      *entries.Entry[epilogueArgs]
	closedGram    *entries.Entry[closedGramArgs]
	sampleGram    *entries.Entry[sampleGramArgs]
	gramWorkspace *entries.Entry[gramArgs]
	gram          *entries.Entry[gramArgs]

	hopper bool // the GPU and the library have the kernels of gram, closedGram and sampleGram
}

// gpus has the kernels of every GPU that was used.
var gpus struct {
	sync.Mutex
	kernels map[*device.Device]*gpuKernels
}

// kernelsOf returns the kernels of a GPU. The first call for a GPU loads the library. Its
// errors are those of kernels.LoadCompanion.
func kernelsOf(d *device.Device) (*gpuKernels, error) {
	gpus.Lock()
	defer gpus.Unlock()
	if k := gpus.kernels[d]; k != nil {
		return k, nil
	}
	lib, err := entries.LoadCompanion(d, "quantum")
	if err != nil {
		return nil, err
	}
	k, err := bindKernels(lib)
	if err != nil {
		return nil, err
	}
	one := gramArgs{Rows: 1, Cols: 1, Width: 1}
	if err := k.gramWorkspace.Query(&one); err != nil {
		return nil, err
	}
	k.hopper = one.WorkspaceBytes > 0
	if gpus.kernels == nil {
		gpus.kernels = map[*device.Device]*gpuKernels{}
	}
	gpus.kernels[d] = k
	return k, nil
}

// bindKernels finds the entry points in the library. Its error is the first one.
func bindKernels(lib *entries.Library) (*gpuKernels, error) {
	k := &gpuKernels{}
	return k, cmp.Or(
		bind(lib, "quantum_angles", &k.angles),
		bind(lib, "quantum_slots", &k.slots),
		bind(lib, "quantum_pass", &k.pass),
		bind(lib, "quantum_norms", &k.norms),
		bind(lib, "quantum_closed_form", &k.closedForm),
		bind(lib, "quantum_epilogue", &k.epilogue),
		bind(lib, "quantum_closed_gram", &k.closedGram),
		bind(lib, "quantum_sample_gram", &k.sampleGram),
		bind(lib, "quantum_gram_workspace", &k.gramWorkspace),
		bind(lib, "quantum_gram", &k.gram),
	)
}

func bind[A any](lib *entries.Library, name string, to **entries.Entry[A]) (err error) {
	*to, err = entries.Bind[A](lib, name)
	return err
}
