package safetensors_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/safetensors"
)

func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	err = safetensors.WriteFile(filepath.Join(folder, "model.safetensors"), map[string]*gpk.Array{
		"weight": gpk.Arange(gpk.Float32, 6).Reshape(2, 3),
		"bias":   gpk.Ones(gpk.Float32, 2),
	}, map[string]string{"format": "gpk"})
	if err != nil {
		log.Fatal(err)
	}

	f, err := safetensors.Open(folder)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for _, name := range f.Names() {
		info, err := f.Info(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, info.DType, info.Shape, info.Bytes)
	}
	model, err := f.LoadAll()
	if err != nil {
		log.Fatal(err)
	}
	x := gpk.FromSlice([]float32{1, 2, 3}, 1, 3)
	fmt.Println(gpk.Linear(x, model["weight"], model["bias"]))
	// Output:
	// bias float32 [2] 8
	// weight float32 [2 3] 24
	// [[ 9. 27.]]
}

// Each loads a part of the tensors at a time: here each is converted, and the
// original given back.
func ExampleFile_Each() {
	f, err := safetensors.Open("testdata/sharded")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	model := map[string]*gpk.Array{}
	err = f.Each(func(name string, a *gpk.Array) error {
		defer a.Free()
		model[name] = a.Cast(gpk.Float32)
		return gpk.Eval(model[name])
	}, safetensors.Only("a.bias", "b.weight"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model["a.bias"], model["b.weight"])
	// Output:
	// [0. 1. 2.] [0. 1. 2. 3.]
}
