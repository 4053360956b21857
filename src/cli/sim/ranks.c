/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cli/sim/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "base/version.h"
#include "cli/command/command.h"
#include "cli/command/module.h"
#include "cli/sim/mpi.h"

static const struct adv_module mpi_module = {ADV_SIM_MPI_MODULE, ADV_SIM_MPI_SYMBOL, "Open MPI",
					     "openmpi-bin", "libopenmpi-dev"};

bool adv_sim_ranks_lead(const struct adv_sim_ranks *r)
{
	return r->of.rank == 0;
}

/* Adds a value for all other ranks. */
static void add_for_all(struct adv_sim_ranks *r, const void *value, size_t size)
{
	for (uint32_t i = 0; i < r->of.count; i++)
		if (i != r->of.rank)
			adv_mail_add(&r->out[i], value, size);
}

/* ---- start ---- */

/* What must be the same at all ranks. */
struct hello {
	char version[32];
	uint64_t layout;
	uint64_t arguments; /* hash */
};

static struct hello make_hello(int argc, char *const *argv)
{
	struct hello h = {.layout = adv_ranks_layout(), .arguments = ADV_FNV_BASIS};

	strncpy(h.version, ADV_VERSION, sizeof(h.version) - 1);
	for (int i = 1; i < argc; i++)
		h.arguments = adv_fnv_add_bytes(h.arguments, argv[i], strlen(argv[i]) + 1);
	return h;
}

static void compare_hellos(struct adv_sim_ranks *r, int argc, char *const *argv)
{
	struct hello mine = make_hello(argc, argv), first;
	struct adv_mail_reader reader;

	add_for_all(r, &mine, sizeof(mine));
	adv_ranks_swap(&r->of, r->out, r->in);
	if (r->of.rank == 0)
		return;
	reader = adv_mail_read(&r->in[0]);
	if (!adv_mail_take(&reader, &first, sizeof(first)) || reader.left ||
	    memcmp(first.version, mine.version, sizeof(mine.version)) != 0 ||
	    first.layout != mine.layout)
		r->of.fail(r->of.user, "another version of Adverb than that of rank 0, or a "
				       "machine of another kind");
	if (first.arguments != mine.arguments)
		r->of.fail(r->of.user, "other arguments than those of rank 0");
}

bool adv_sim_ranks_open(struct adv_sim_ranks *r, int argc, char *const *argv)
{
	r->mpi = adv_module_load("adverb sim --mpi", &mpi_module);
	if (!r->mpi)
		return false;
	r->mpi->open(&r->of);
	r->out = calloc(r->of.count, sizeof(*r->out));
	r->in = calloc(r->of.count, sizeof(*r->in));
	if (!r->out || !r->in)
		r->of.fail(r->of.user, "no memory");
	compare_hellos(r, argc, argv);
	return true;
}

void adv_sim_ranks_close(struct adv_sim_ranks *r)
{
	if (!r->mpi)
		return;
	for (uint32_t i = 0; i < r->of.count; i++) {
		adv_mail_free(&r->out[i]);
		adv_mail_free(&r->in[i]);
	}
	free(r->out);
	free(r->in);
	r->mpi->close();
}

/* ---- files ---- */

/* Returns the text that rank 0 has sent; NULL: it could not read the file. */
static char *receive_text(const struct adv_sim_ranks *r, size_t *len)
{
	struct adv_mail_reader reader = adv_mail_read(&r->in[0]);
	uint8_t good;
	char *text;

	if (!adv_mail_take(&reader, &good, sizeof(good)) || !good)
		return NULL;
	text = malloc(reader.left + 1);
	if (!text)
		r->of.fail(r->of.user, "no memory");
	*len = reader.left;
	if (reader.left)
		memcpy(text, reader.at, reader.left);
	text[*len] = '\0';
	return text;
}

char *adv_sim_ranks_read_file(struct adv_sim_ranks *r, const char *name, size_t most, size_t *len)
{
	char *text = NULL;
	uint8_t good;

	if (adv_sim_ranks_lead(r))
		text = adv_cli_read_file("adverb sim", name, most, len);
	if (!r->mpi)
		return text;
	good = text != NULL;
	if (adv_sim_ranks_lead(r)) {
		add_for_all(r, &good, sizeof(good));
		if (good)
			add_for_all(r, text, *len);
	}
	adv_ranks_swap(&r->of, r->out, r->in);
	return adv_sim_ranks_lead(r) ? text : receive_text(r, len);
}

/* ---- errors ---- */

bool adv_sim_ranks_agree(struct adv_sim_ranks *r, bool good, const char *why)
{
	uint8_t mine = good, theirs;
	bool all = good, first = good, here = true;

	if (r->mpi) {
		add_for_all(r, &mine, sizeof(mine));
		adv_ranks_swap(&r->of, r->out, r->in);
	}
	for (uint32_t i = 0; i < r->of.count; i++) {
		struct adv_mail_reader reader = adv_mail_read(&r->in[i]);

		if (i == r->of.rank)
			continue;
		/* A rank that waits for a file of rank 0 sends nothing. */
		if (!adv_mail_take(&reader, &theirs, sizeof(theirs))) {
			here = false;
			continue;
		}
		all &= theirs != 0;
		if (i == 0)
			first = theirs != 0;
	}
	if (!good && (!here || (first && !adv_sim_ranks_lead(r))))
		r->of.fail(r->of.user, why); /* the others may be at another exchange */
	else if (!good && adv_sim_ranks_lead(r))
		fprintf(stderr, "adverb sim: %s\n", why);
	return all;
}
