/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/config.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SHIFT = 12 };

/* Makes room for one more element of `size` bytes, which is zeroed. NULL: no memory. */
static void *grow_array(void **array, size_t *count, size_t size)
{
	void *larger = realloc(*array, (*count + 1) * size);
	uint8_t *element;

	if (!larger)
		return NULL;
	*array = larger;
	element = (uint8_t *)larger + *count * size;
	memset(element, 0, size);
	++*count;
	return element;
}

bool adv_nvme_config_add_text(struct adv_nvme_texts *texts, const char *text)
{
	char *copy = strdup(text);
	void *array = texts->at;
	char **element = copy ? grow_array(&array, &texts->count, sizeof(*element)) : NULL;

	texts->at = array;
	if (element)
		*element = copy;
	else
		free(copy);
	return element != NULL;
}

struct adv_nvme_subsystem_settings *adv_nvme_config_add_subsystem(struct adv_nvme_config *config)
{
	void *array = config->subsystems;
	struct adv_nvme_subsystem_settings *s =
		grow_array(&array, &config->subsystem_count, sizeof(*s));

	config->subsystems = array;
	if (s)
		strcpy(s->serial, "adverb");
	return s;
}

struct adv_nvme_namespace_settings *
adv_nvme_config_add_namespace(struct adv_nvme_subsystem_settings *subsystem)
{
	void *array = subsystem->namespaces;
	struct adv_nvme_namespace_settings *n =
		grow_array(&array, &subsystem->namespace_count, sizeof(*n));

	subsystem->namespaces = array;
	if (n)
		n->block_shift = DEFAULT_SHIFT;
	return n;
}

static void free_texts(struct adv_nvme_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->at[i]);
	free(texts->at);
}

void adv_nvme_config_free(struct adv_nvme_config *config)
{
	for (size_t i = 0; i < config->subsystem_count; i++) {
		struct adv_nvme_subsystem_settings *s = &config->subsystems[i];

		for (size_t k = 0; k < s->namespace_count; k++)
			free(s->namespaces[k].path);
		free(s->namespaces);
		free_texts(&s->hosts);
	}
	free(config->subsystems);
	free_texts(&config->listen);
	free_texts(&config->referrals);
	free(config->control);
	memset(config, 0, sizeof(*config));
}
