// Package nn has layers for models that are used for inference.
//
// A layer is a struct with a method Forward. A Module lists its parameters by name, as
// published weights name them; Load fills them from a safetensors file, and To and Cast
// move and convert them. Layers compute with package gpk's public functions, and their results
// belong to the scope of their input.
//
//	s := gpk.NewScope()
//	defer s.Close()
//	y := s.Keep(mlp.Forward(s.In(x)))
//
// What belongs here: layers that several models share. Models, such as nn/bert, and tokenizers
// have packages of their own below this one. A layer that is one kernel is an
// operation of package gpk.
//
// Layers are safe for concurrent use as long as their parameters do not change.
package nn
