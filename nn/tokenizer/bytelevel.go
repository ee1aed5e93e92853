package tokenizer

// Byte-level BPE writes every byte as a letter. The printable characters of Latin-1 stand
// for themselves, and the other 68 bytes are U+0100 and following, in order. The file
// spells its tokens in this way; this package converts them to bytes when it loads them.

var (
	letterOf [256]rune
	byteFrom [256 + 68]int16 // or -1
)

func init() {
	for i := range byteFrom {
		byteFrom[i] = -1
	}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if b <= ' ' || b >= 0x7F && b <= 0xA0 || b == 0xAD {
			r = next
			next++
		}
		letterOf[b] = r
		byteFrom[r] = int16(b)
	}
}

// byteOf returns the byte that a letter stands for.
func byteOf(r rune) (byte, bool) {
	if r >= 0 && int(r) < len(byteFrom) && byteFrom[r] >= 0 {
		return byte(byteFrom[r]), true
	}
	return 0, false
}

// bytesOf returns the bytes that a token stands for. It reports false if the token
// contains any other letter.
func bytesOf(token string) (string, bool) {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		c, ok := byteOf(r)
		if !ok {
			return "", false
		}
		b = append(b, c)
	}
	return string(b), true
}
