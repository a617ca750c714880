package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// maxFile bounds what ${file:PATH} reads, in bytes.
const maxFile = 64 << 10

var reference = regexp.MustCompile(`\$\$\{|\$\{([^}]*)\}?`)

// expand puts values of the environment in place of ${NAME}, and contents of
// files, without the line break at their end, in place of ${file:PATH}. $${ is a
// plain ${. The error says what is expected and shows no value.
func expand(s string, getenv func(string) string) (string, error) {
	var errs []error
	out := reference.ReplaceAllStringFunc(s, func(ref string) string {
		if ref == "$${" {
			return "${"
		}
		name, closed := strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
		if !closed {
			errs = append(errs, errors.New("a ${ has no closing brace; write $${ for a plain ${"))
			return ref
		}
		value, err := lookUp(name, getenv)
		if err != nil {
			errs = append(errs, err)
		}
		return value
	})
	return out, errors.Join(errs...)
}

func lookUp(name string, getenv func(string) string) (string, error) {
	if path, ok := strings.CutPrefix(name, "file:"); ok {
		return readSecret(path)
	}
	if !variable.MatchString(name) {
		return "", fmt.Errorf("${%s} is no reference; possible are ${NAME} and ${file:PATH}", name)
	}
	value := getenv(name)
	if value == "" {
		return "", fmt.Errorf("the environment variable %s is not set, or empty", name)
	}
	return value, nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		return "", fmt.Errorf("the file %s is larger than %d bytes", path, maxFile)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return "", fmt.Errorf("the file %s can't be read: %w", path, pe.Err)
	}
	return strings.TrimRight(string(content), "\r\n"), err
}
