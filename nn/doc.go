// Package nn has layers for models that are used for inference.
//
// A layer is a struct with a method Forward. A Module lists its parameters by name, as published weights
// name them; Load fills them from a safetensors file, and To and Cast move and convert them. Layers compute
// with package gpk's public functions, and their results belong to the scope of their input.
//
//	s := gpk.NewScope()
//	defer s.Close()
//	y := s.Keep(mlp.Forward(s.In(x)))
//
// ColumnParallel, RowParallel, ParallelMLP, ParallelGatedMLP and ParallelAttention are layers whose weights
// are divided among the ranks of a dist.Comm (tensor parallel; Shoeybi et al., Megatron-LM, arXiv
// 1909.08053):
//
//	err = g.Run(ctx, func(ctx context.Context, c *dist.Comm) error {
//		mlp, err := nn.NewParallelMLP(c, nn.NewMLP(8192, 28672, nn.GELUTanh, false))
//		…
//		err = nn.Load(mlp, nn.FromFile(f, safetensors.On(c.Device())), nn.LoadOptions{})
//		y := mlp.Forward(x)
//
// All ranks call Forward with the same x and get the same result. A constructor takes the layer in its full
// size and makes the rank's part of it. If the given layer's parameters are set, it copies the rank's parts
// from them. Otherwise Load reads the rank's parts from the file of the whole model, where parameters keep
// their names. With one rank the results are those of the given layer, bit for bit. A parallel layer is
// made and used in one Run of the group, by one goroutine.
//
// What belongs here: layers that several models share. Models, such as nn/bert, and tokenizers have
// packages of their own below this one. A layer that is one kernel is an operation of package gpk.
//
// Other layers are safe for concurrent use as long as their parameters do not change.
package nn
