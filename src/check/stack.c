/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "check/stack.h"

#include <execinfo.h>
#include <link.h>
#include <stdbool.h>

#define HIDDEN 4
#define TAKEN  (ADV_CHECK_FRAMES + 8) /* frames with the hidden ones */

/* Address ranges of the hidden files. Written before the first stack is taken. */
static struct {
	uintptr_t begin, end;
	bool is_rdmacm;
} hidden[HIDDEN];
static unsigned hidden_count;

void adv_check_stack_prepare(void)
{
	void *frame[1];

	(void)backtrace(frame, 1);
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

void adv_check_stack_hide(const void *code, bool is_rdmacm)
{
	if (hidden_count < HIDDEN && dl_iterate_phdr(hide_file, (void *)(uintptr_t)code))
		hidden[hidden_count - 1].is_rdmacm = is_rdmacm;
}

static bool is_hidden(uintptr_t frame, bool *is_rdmacm)
{
	for (unsigned i = 0; i < hidden_count; i++) {
		if (frame < hidden[i].begin || frame >= hidden[i].end)
			continue;
		*is_rdmacm |= hidden[i].is_rdmacm;
		return true;
	}
	return false;
}

bool adv_check_stack_hides(const void *code)
{
	bool is_rdmacm;

	return is_hidden((uintptr_t)code, &is_rdmacm);
}

void adv_check_stack_take(struct adv_check_stack *s)
{
	void *frame[TAKEN];
	int count = backtrace(frame, TAKEN), i = 0;

	s->by_library = false;
	while (i < count && is_hidden((uintptr_t)frame[i], &s->by_library))
		i++;
	for (s->count = 0; i < count && s->count < ADV_CHECK_FRAMES; i++)
		s->frame[s->count++] = (uintptr_t)frame[i];
}

uint64_t adv_check_stack_hash(const struct adv_check_stack *s)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (unsigned i = 0; i < s->count; i++)
		hash = (hash ^ s->frame[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}
