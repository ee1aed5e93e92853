module github.com/gpk-go/gpk

go 1.26

require (
	github.com/chewxy/math32 v1.11.1 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)
