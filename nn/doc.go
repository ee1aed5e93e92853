// Package nn has the layers of which models for inference are made.
//
// A layer is a struct with a method Forward. A Module lists its parameters by name, as
// published weights name them; Load fills them from a safetensors file, and To and Cast
// move and convert them. Layers compute with package gpk, as any program could: what they
// compute belongs to the scope of their input.
//
//	s := gpk.NewScope()
//	defer s.Close()
//	y := s.Keep(mlp.Forward(s.In(x)))
//
// What belongs here: layers that several models share. Models have packages of their own
// below, as nn/bert; so have tokenizers. What a layer computes in one kernel is an
// operation of package gpk.
//
// Layers are safe for use by many goroutines, while nobody changes their parameters.
package nn
