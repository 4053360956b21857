/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/check/symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"

/* A file that was loaded by the program. */
struct file {
	struct file *next;
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: the file cannot be read */
};

struct adv_symbols {
	struct file *files;
};

static char *debuginfo_path; /* NULL: the system's folders */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

static void *allocate_zeroed(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		perror("adverb check");
		exit(ADV_EXIT_FAILED);
	}
	return p;
}

struct adv_symbols *adv_symbols_new(void)
{
	return allocate_zeroed(sizeof(struct adv_symbols));
}

void adv_symbols_free(struct adv_symbols *s)
{
	while (s->files) {
		struct file *f = s->files;

		s->files = f->next;
		dwfl_end(f->dwfl);
		free(f->path);
		free(f);
	}
	free(s);
}

/* Reads a file so that addresses of its program headers are addresses of the Dwfl. */
static struct file *open_file(struct adv_symbols *s, const char *path)
{
	struct file *f = allocate_zeroed(sizeof(*f));

	f->path = allocate_zeroed(strlen(path) + 1);
	strcpy(f->path, path);
	f->dwfl = dwfl_begin(&callbacks);
	if (f->dwfl) {
		dwfl_report_begin(f->dwfl);
		f->module = dwfl_report_elf(f->dwfl, path, path, -1, 0, true);
		dwfl_report_end(f->dwfl, NULL, NULL);
	}
	f->next = s->files;
	s->files = f;
	return f;
}

static struct file *find_file(struct adv_symbols *s, const char *path)
{
	for (struct file *f = s->files; f; f = f->next)
		if (strcmp(f->path, path) == 0)
			return f;
	return open_file(s, path);
}

/* Returns the name of an inlined function, which its abstract origin has. */
static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

/* Sets the line of the level that contains an inlined function: where the function is called. */
static void set_call_line(Dwarf_Die *inlined, Dwarf_Die *unit, struct adv_symbol *outer)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	outer->file = NULL;
	outer->line = 0;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) == 0 &&
	    dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
		outer->file = dwarf_filesrc(files, file, NULL, NULL);
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) == 0)
		outer->line = (int)line;
}

/* Returns the number of DIEs that enclose the address, innermost first, as the code is nested. The
 * caller frees *scopes if the number is above 0. */
static int enclosing_scopes(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **scopes)
{
	Dwarf_Die innermost;

	/* Outside of an inlined function, dwarf_getscopes() continues with the scopes of the
	 * function's definition, not with those of its caller. */
	if (dwarf_getscopes(unit, address, scopes) <= 0)
		return 0;
	innermost = (*scopes)[0];
	free(*scopes);
	return dwarf_getscopes_die(&innermost, scopes);
}

/* Splits the level of a function into those of the functions inlined at the address. Returns the
 * number of levels. */
static unsigned split_inlined(Dwfl_Module *module, Dwarf_Addr address, struct adv_symbol *level,
			      unsigned most)
{
	struct adv_symbol outermost = level[0];
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *scopes;
	unsigned levels = 0;
	int count = unit ? enclosing_scopes(unit, address - bias, &scopes) : 0;

	for (int i = 0; i < count && levels + 1 < most; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		level[levels].function = name_of(&scopes[i]);
		level[levels].offset = 0;
		level[levels + 1] = outermost;
		set_call_line(&scopes[i], unit, &level[levels + 1]);
		levels++;
	}
	if (count > 0)
		free(scopes);
	return levels + 1;
}

unsigned adv_symbols_find(struct adv_symbols *s, const char *file, uint64_t address,
			  struct adv_symbol *level, unsigned most)
{
	struct file *f = find_file(s, file);
	Dwfl_Line *line;
	GElf_Sym symbol;
	GElf_Off offset = 0;

	memset(level, 0, sizeof(*level));
	if (!f->module)
		return 1;
	address--; /* of the call, not of the instruction after it */
	level->function =
		dwfl_module_addrinfo(f->module, address, &offset, &symbol, NULL, NULL, NULL);
	level->offset = level->function ? offset + 1 : 0;
	line = dwfl_module_getsrc(f->module, address);
	if (line)
		level->file = dwfl_lineinfo(line, NULL, &level->line, NULL, NULL, NULL);
	return split_inlined(f->module, address, level, most);
}
