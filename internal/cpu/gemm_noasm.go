//go:build (!amd64 && !arm64) || noasm

package cpu

func machine() ([]*variant[float32], []*variant[float64], converters) {
	return []*variant[float32]{goVariant[float32]()}, []*variant[float64]{goVariant[float64]()}, converters{}
}
