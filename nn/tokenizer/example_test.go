package tokenizer_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/gpk-go/gpk/nn/tokenizer"
)

func Example() {
	t, err := tokenizer.Load("testdata/wordpiece") // the folder of tokenizer.json
	if err != nil {
		log.Fatal(err)
	}
	ids, err := t.Encode("The Baker's test!")
	if err != nil {
		log.Fatal(err)
	}
	var tokens []string
	for _, id := range ids {
		token, _ := t.Token(id)
		tokens = append(tokens, token)
	}
	fmt.Println(strings.Join(tokens, " "))
	text, err := t.Decode(ids)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	cls, _ := t.Special("[CLS]")
	fmt.Println(ids[0] == cls)
	// Output:
	// [CLS] the ba ##ke ##r ' s te ##st ! [SEP]
	// the baker ' s test!
	// true
}
