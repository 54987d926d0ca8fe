//go:build cgo && (linux || darwin) && !noxla

package backend

/*
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What PJRT_Client_Compile is given. Structures of the PJRT C API are append-only
// and begin with their own size.
typedef struct {
	size_t size;
	void *extensions;
	char *code;
	size_t code_size;
	const char *format;
	size_t format_size;
} pjrt_program;

typedef struct {
	size_t size;
	void *extensions;
	void *client;
	const pjrt_program *program;
	const char *options;
	size_t options_size;
	void *executable; // set by the call
} pjrt_compile_args;

typedef void *(*pjrt_compile)(pjrt_compile_args *);

extern char *kalmarzRewrite(char *code, size_t size, size_t *new_size);
extern void kalmarzRefused(void);

static pjrt_compile pjrt_compile_as_it_was;

// pjrt_compile_rewritten compiles what kalmarzRewrite makes of a program.
static void *pjrt_compile_rewritten(pjrt_compile_args *args) {
	const pjrt_program *p = args->program;
	if (args->size < sizeof(pjrt_compile_args) || p->size < sizeof(pjrt_program) ||
	    p->format_size != 4 || memcmp(p->format, "mlir", 4) != 0) {
		return pjrt_compile_as_it_was(args);
	}
	pjrt_program program = *p;
	program.size = sizeof program;
	program.code = kalmarzRewrite(p->code, p->code_size, &program.code_size);
	if (!program.code) return pjrt_compile_as_it_was(args);
	args->program = &program;
	void *error = pjrt_compile_as_it_was(args);
	args->program = p;
	free(program.code);
	if (error) kalmarzRefused();
	return error;
}

// The table begins with five words; PJRT_Client_Compile is its 21st function.
enum { pjrt_words = 5, pjrt_client_compile = pjrt_words + 20 };

// pjrt_hook copies a table and replaces its PJRT_Client_Compile; NULL if the table
// does not reach that far.
static void *pjrt_hook(void **api) {
	size_t size = *(size_t *)api;
	if (size < (pjrt_client_compile + 1) * sizeof(void *) || !api[pjrt_client_compile]) return NULL;
	void **copy = malloc(size);
	if (!copy) return NULL;
	memcpy(copy, api, size);
	pjrt_compile_as_it_was = (pjrt_compile)api[pjrt_client_compile];
	copy[pjrt_client_compile] = (void *)pjrt_compile_rewritten;
	return copy;
}

static void *pjrt_pointer(uintptr_t p) { return (void *)p; }
*/
import "C"

import (
	"unsafe"

	"github.com/kalmarz/kalmarz/layers/kernels"
)

// hook returns a copy of a plugin's table whose compiler sees programs after
// kernels.Rewrite, or 0 if the table is not one that can be hooked. One plugin of a
// process can be.
func hook(api uintptr) uintptr {
	return uintptr(C.pjrt_hook((*unsafe.Pointer)(C.pjrt_pointer(C.uintptr_t(api)))))
}

//export kalmarzRefused
func kalmarzRefused() { kernels.Refused() }

//export kalmarzRewrite
func kalmarzRewrite(code *C.char, size C.size_t, newSize *C.size_t) *C.char {
	program := kernels.Rewrite(C.GoStringN(code, C.int(size)))
	if program == "" {
		return nil
	}
	*newSize = C.size_t(len(program))
	return (*C.char)(C.CBytes([]byte(program)))
}
