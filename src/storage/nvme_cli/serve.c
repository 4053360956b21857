/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme serve: the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/nvme_cli/command.h"
#include "storage/nvme_server/config.h"
#include "storage/nvme_server/options.h"
#include "storage/nvme_server/server.h"

enum { DEFAULT_WORKERS = 1, DEFAULT_BUFFERS = 64 << 20, DEFAULT_SHARE = 50 };

/* Replaces the texts by those of an option, if it was given. False: no memory. */
static bool replace_texts(struct adv_nvme_texts *texts, const struct adv_nvme_list *list)
{
	if (list->count == 0)
		return true;
	for (size_t i = 0; i < texts->count; i++)
		free(texts->at[i]);
	texts->count = 0;
	for (unsigned i = 0; i < list->count; i++) {
		if (!adv_nvme_config_add_text(texts, list->at[i]))
			return false;
	}
	return true;
}

/* Makes the subsystem of the options. False: prints the reason. */
static bool make_subsystem(const struct adv_nvme_serve_options *o, struct adv_nvme_config *config)
{
	struct adv_nvme_subsystem_settings *s = adv_nvme_config_add_subsystem(config);
	bool ok = s != NULL;

	if (!adv_nvme_nqn_valid(o->nqn)) {
		fprintf(stderr, "'%s' is not an NVMe qualified name (nqn.YYYY-MM.DOMAIN:NAME)\n",
			o->nqn);
		return false;
	}
	if (ok)
		strcpy(s->nqn, o->nqn);
	for (unsigned i = 0; ok && i < o->hosts.count; i++) {
		if (!adv_nvme_nqn_valid(o->hosts.at[i])) {
			fprintf(stderr, "'%s' is not the qualified name of a host\n",
				o->hosts.at[i]);
			return false;
		}
		ok = adv_nvme_config_add_text(&s->hosts, o->hosts.at[i]);
	}
	for (unsigned i = 0; ok && i < o->namespaces.count; i++) {
		struct adv_nvme_namespace_settings *n = adv_nvme_config_add_namespace(s);

		ok = n && (n->path = strdup(o->namespaces.at[i])) != NULL;
		if (ok) {
			n->read_only = o->options.read_only;
			n->buffered = o->options.buffered;
			n->block_shift = o->options.block_shift;
		}
	}
	if (!ok)
		fprintf(stderr, "no memory\n");
	return ok;
}

static bool make_config(const struct adv_nvme_serve_options *o, struct adv_nvme_config *config)
{
	char why[ADV_NVME_CONFIG_WHY];

	if (o->file) {
		if (!adv_nvme_config_read(o->file, config, why) ||
		    !adv_nvme_config_complete(config, why)) {
			fprintf(stderr, "%s: %s\n", o->file, why);
			return false;
		}
	} else if (!make_subsystem(o, config)) {
		return false;
	}
	if (o->workers)
		config->workers = o->workers;
	if (!config->workers)
		config->workers = DEFAULT_WORKERS;
	if (o->buffer_bytes)
		config->buffer_bytes = o->buffer_bytes;
	if (!config->buffer_bytes)
		config->buffer_bytes = DEFAULT_BUFFERS;
	if (o->address_share)
		config->address_share = o->address_share;
	if (!config->address_share)
		config->address_share = DEFAULT_SHARE;
	if (o->control) {
		free(config->control);
		config->control = strdup(o->control);
	}
	if (replace_texts(&config->listen, &o->listen) &&
	    replace_texts(&config->referrals, &o->referrals) &&
	    (config->listen.count || adv_nvme_config_add_text(&config->listen, "0.0.0.0")))
		return true;
	fprintf(stderr, "no memory\n");
	return false;
}

/* Makes the configuration of the options, and of their file as it is now. */
static bool load_config(const void *arg, struct adv_nvme_config *config)
{
	memset(config, 0, sizeof(*config));
	if (make_config(arg, config))
		return true;
	adv_nvme_config_free(config);
	return false;
}

int adv_nvme_serve_main(int argc, char **argv)
{
	static struct adv_nvme_serve_options o;

	adv_options_parse(&adv_nvme_serve_syntax, argc, argv, &o);
	return adv_nvme_serve(load_config, &o);
}
