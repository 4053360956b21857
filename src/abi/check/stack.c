/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/check/stack.h"

#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unwind.h>

#include "base/fnv.h"

#define HIDDEN 4
#define TAKEN  (ADV_CHECK_FRAMES + 8) /* frames with the hidden ones */
#define SETS   16
#define WAYS   8 /* walks that begin in the same place */

/* Address ranges of the hidden files. Written before the first stack is taken. */
static struct {
	uintptr_t begin, end;
	enum adv_check_file file;
} hidden[HIDDEN];
static unsigned hidden_count;

/*
 * The frames of a stack, innermost first, and where in memory their return addresses are. Unwinding
 * takes microseconds, and programs post and poll in few places. So the last walks are kept: a stack
 * that begins in the same place, and has the same return addresses in the same places, has the
 * same frames.
 */
struct walk {
	uintptr_t start; /* the frame of adv_check_stack_take(); 0: no walk */
	unsigned count;
	uintptr_t frame[TAKEN];
	const uintptr_t *place[TAKEN];
	struct adv_check_stack stack; /* without the hidden frames */
};

/* Under the lock of report.h. */
static struct walk_set {
	struct walk walk[WAYS];
	unsigned next; /* the one that is replaced next */
} sets[SETS];

/* Called for each frame, innermost first. */
static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *walk)
{
	struct walk *w = walk;
	uintptr_t frame = _Unwind_GetIP(context);
	/* On x86-64 a call pushes its return address, and this is the stack pointer before it. */
	const uintptr_t *place = (const uintptr_t *)_Unwind_GetCFA(context) - 1;

	if (w->count == TAKEN || !frame)
		return _URC_END_OF_STACK;
	if ((uintptr_t)place < w->start)
		return _URC_NO_REASON; /* the functions that walk */
	w->place[w->count] = place;
	w->frame[w->count++] = frame;
	return _URC_NO_REASON;
}

/* True if the return addresses are where the walk found them. They are not on processors that keep
 * them elsewhere, nor below the frame of a signal handler. */
static bool is_present(const struct walk *w)
{
	for (unsigned i = 0; i < w->count; i++)
		if (*w->place[i] != w->frame[i])
			return false;
	return true;
}

static void walk_stack(struct walk *w, uintptr_t start)
{
	w->start = start;
	w->count = 0;
	(void)_Unwind_Backtrace(visit_frame, w);
}

void adv_check_stack_prepare(void)
{
	struct walk w;

	walk_stack(&w, 0);
}

static int hide_file(struct dl_phdr_info *info, size_t size, void *code)
{
	uintptr_t begin = UINTPTR_MAX, end = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (start < begin)
			begin = start;
		if (start + p->p_memsz > end)
			end = start + p->p_memsz;
	}
	if ((uintptr_t)code < begin || (uintptr_t)code >= end)
		return 0;
	hidden[hidden_count].begin = begin;
	hidden[hidden_count++].end = end;
	return 1;
}

void adv_check_stack_hide(const void *code, enum adv_check_file file)
{
	if (hidden_count < HIDDEN && dl_iterate_phdr(hide_file, (void *)(uintptr_t)code))
		hidden[hidden_count - 1].file = file;
}

/* Finds the hidden file that contains the frame. */
static bool is_hidden(uintptr_t frame, enum adv_check_file *file)
{
	for (unsigned i = 0; i < hidden_count; i++) {
		if (frame < hidden[i].begin || frame >= hidden[i].end)
			continue;
		*file = hidden[i].file;
		return true;
	}
	return false;
}

bool adv_check_stack_hides(const void *code)
{
	enum adv_check_file file;

	return is_hidden((uintptr_t)code, &file);
}

/* Writes the frames that are shown into w->stack. */
static void leave_out_hidden(struct walk *w)
{
	struct adv_check_stack *s = &w->stack;
	enum adv_check_file file;
	unsigned i = 0;

	s->by_library = s->in_library = false;
	for (; i < w->count && is_hidden(w->frame[i], &file); i++) {
		s->by_library |= file == ADV_CHECK_FILE_RDMACM;
		s->in_library |= file != ADV_CHECK_FILE_OBSERVER;
	}
	for (s->count = 0; i < w->count && s->count < ADV_CHECK_FRAMES; i++) {
		s->frame[s->count++] = w->frame[i];
		s->in_library |= is_hidden(w->frame[i], &file) && file != ADV_CHECK_FILE_OBSERVER;
	}
}

/* Returns the walk of the present stack from `start`, or NULL. */
static struct walk *find_walk(struct walk_set *set, uintptr_t start)
{
	for (unsigned i = 0; i < WAYS; i++)
		if (set->walk[i].start == start && is_present(&set->walk[i]))
			return &set->walk[i];
	return NULL;
}

__attribute__((noinline)) void adv_check_stack_take(struct adv_check_stack *s)
{
	uintptr_t start = (uintptr_t)__builtin_frame_address(0);
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);
	struct walk_set *set = &sets[(start >> 4 ^ caller) % SETS];
	struct walk *w = find_walk(set, start);

	if (!w) {
		w = &set->walk[set->next++ % WAYS];
		walk_stack(w, start);
		leave_out_hidden(w);
		w->start = is_present(w) ? start : 0;
	}
	*s = w->stack;
}

uint64_t adv_check_stack_hash(const struct adv_check_stack *s)
{
	uint64_t hash = ADV_FNV_BASIS;

	for (unsigned i = 0; i < s->count; i++)
		hash = adv_fnv_add(hash, s->frame[i]);
	return hash ^ hash >> 32;
}
