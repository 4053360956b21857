/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the text of a configuration. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/shown.h"
#include "base/units.h"
#include "storage/nvme_server/config.h"

enum { LINE_MAX_LEN = 8192 };

enum section { NONE, TARGET, SUBSYSTEM, NAMESPACE };

struct reader {
	struct adv_nvme_config *config;
	enum section section;
	struct adv_nvme_subsystem_settings *subsystem; /* the last one */
	struct adv_nvme_namespace_settings *namespace; /* the last one of it */
	unsigned seen;				       /* keys of the section, a bit each */
	size_t line;
	char *why;
};

static bool fail_line(struct reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail_line(struct reader *r, const char *format, ...)
{
	int n = snprintf(r->why, ADV_NVME_CONFIG_WHY, "line %zu: ", r->line);
	va_list args;

	va_start(args, format);
	vsnprintf(r->why + n, (size_t)(ADV_NVME_CONFIG_WHY - n), format, args);
	va_end(args);
	return false;
}

static struct adv_shown show_text(const char *text)
{
	return adv_show(text, strlen(text), ADV_SHOWN_MOST);
}

/* --- values --- */

static bool get_number(struct reader *r, enum adv_unit unit, const char *value, uint64_t least,
		       uint64_t most, uint64_t *out)
{
	char why[ADV_UNITS_WHY], low[ADV_UNITS_TEXT], high[ADV_UNITS_TEXT];

	if (!adv_units_parse_plain(unit, value, strlen(value), out, why))
		return fail_line(r, "%s", why);
	if (*out < least || *out > most)
		return fail_line(r, "'%s' is not from %s to %s", show_text(value).text,
				 adv_units_exact(unit, least, low),
				 adv_units_exact(unit, most, high));
	return true;
}

static bool get_bool(struct reader *r, const char *value, bool *out)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return fail_line(r, "'%s' is neither yes nor no", show_text(value).text);
	*out = strcmp(value, "yes") == 0;
	return true;
}

static bool add_text(struct reader *r, struct adv_nvme_texts *texts, const char *value)
{
	if (texts->count >= ADV_NVME_CONFIG_COUNT)
		return fail_line(r, "more than %u entries", ADV_NVME_CONFIG_COUNT);
	return adv_nvme_config_add_text(texts, value) || fail_line(r, "no memory");
}

static bool set_text(struct reader *r, char **out, const char *value)
{
	free(*out);
	*out = strdup(value);
	return *out || fail_line(r, "no memory");
}

/* --- keys --- */

static bool set_listen(struct reader *r, const char *value)
{
	return add_text(r, &r->config->listen, value);
}

static bool set_referral(struct reader *r, const char *value)
{
	return add_text(r, &r->config->referrals, value);
}

static bool set_workers(struct reader *r, const char *value)
{
	uint64_t n = 0;

	if (!get_number(r, ADV_UNIT_COUNT, value, 1, ADV_NVME_WORKERS_MAX, &n))
		return false;
	r->config->workers = (unsigned)n;
	return true;
}

static bool set_address_share(struct reader *r, const char *value)
{
	uint64_t n = 0;

	if (!get_number(r, ADV_UNIT_COUNT, value, 1, 100, &n))
		return false;
	r->config->address_share = (unsigned)n;
	return true;
}

static bool set_buffers(struct reader *r, const char *value)
{
	uint64_t n = 0;

	if (!get_number(r, ADV_UNIT_BYTES, value, ADV_NVME_BUFFERS_MIN, UINT32_MAX, &n))
		return false;
	r->config->buffer_bytes = (size_t)n;
	return true;
}

static bool set_control(struct reader *r, const char *value)
{
	return set_text(r, &r->config->control, value);
}

static bool set_serial(struct reader *r, const char *value)
{
	if (strlen(value) > ADV_NVME_SERIAL_LEN)
		return fail_line(r, "the serial number has more than %d characters",
				 ADV_NVME_SERIAL_LEN);
	strcpy(r->subsystem->serial, value);
	return true;
}

static bool set_allow_host(struct reader *r, const char *value)
{
	if (!adv_nvme_nqn_valid(value))
		return fail_line(r, "'%s' is not the qualified name of a host",
				 show_text(value).text);
	return add_text(r, &r->subsystem->hosts, value);
}

static bool set_path(struct reader *r, const char *value)
{
	return set_text(r, &r->namespace->path, value);
}

static bool set_nsid(struct reader *r, const char *value)
{
	uint64_t n = 0;

	if (!get_number(r, ADV_UNIT_COUNT, value, 1, ADV_NVME_LIST_MAX, &n))
		return false;
	r->namespace->nsid = (uint32_t)n;
	return true;
}

static bool set_read_only(struct reader *r, const char *value)
{
	return get_bool(r, value, &r->namespace->read_only);
}

static bool set_buffered(struct reader *r, const char *value)
{
	return get_bool(r, value, &r->namespace->buffered);
}

static bool set_block_size(struct reader *r, const char *value)
{
	uint64_t n = 0;

	if (!get_number(r, ADV_UNIT_BYTES, value, 512, 4096, &n))
		return false;
	if (n != 512 && n != 4096)
		return fail_line(r, "the block size is neither 512 nor 4096");
	r->namespace->block_shift = n == 512 ? 9 : 12;
	return true;
}

static const struct key {
	enum section section;
	const char *name;
	bool repeats;
	bool (*set)(struct reader *r, const char *value);
} keys[] = {
	{TARGET, "listen", true, set_listen},
	{TARGET, "referral", true, set_referral},
	{TARGET, "workers", false, set_workers},
	{TARGET, "buffers", false, set_buffers},
	{TARGET, "address-share", false, set_address_share},
	{TARGET, "control", false, set_control},
	{SUBSYSTEM, "serial", false, set_serial},
	{SUBSYSTEM, "allow-host", true, set_allow_host},
	{NAMESPACE, "path", false, set_path},
	{NAMESPACE, "nsid", false, set_nsid},
	{NAMESPACE, "read-only", false, set_read_only},
	{NAMESPACE, "block-size", false, set_block_size},
	{NAMESPACE, "buffered", false, set_buffered},
};

static bool read_key(struct reader *r, const char *name, const char *value)
{
	if (r->section == NONE)
		return fail_line(r, "'%s' stands before the first section", show_text(name).text);
	for (unsigned i = 0; i < ADV_ARRAY_SIZE(keys); i++) {
		if (keys[i].section != r->section || strcmp(keys[i].name, name) != 0)
			continue;
		if (!keys[i].repeats && (r->seen & 1u << i))
			return fail_line(r, "'%s' is given twice", name);
		if (!value[0])
			return fail_line(r, "'%s' has no value", name);
		r->seen |= 1u << i;
		return keys[i].set(r, value);
	}
	return fail_line(r, "'%s' is not a key of this section", show_text(name).text);
}

/* --- sections --- */

static bool begin_subsystem(struct reader *r, const char *nqn)
{
	struct adv_nvme_config *config = r->config;

	if (!adv_nvme_nqn_valid(nqn))
		return fail_line(r, "'%s' is not an NVMe qualified name (nqn.YYYY-MM.DOMAIN:NAME)",
				 show_text(nqn).text);
	for (size_t i = 0; i < config->subsystem_count; i++) {
		if (strcmp(config->subsystems[i].nqn, nqn) == 0)
			return fail_line(r, "the subsystem is given twice");
	}
	if (config->subsystem_count >= ADV_NVME_CONFIG_COUNT)
		return fail_line(r, "more than %u subsystems", ADV_NVME_CONFIG_COUNT);
	r->subsystem = adv_nvme_config_add_subsystem(config);
	if (!r->subsystem)
		return fail_line(r, "no memory");
	strcpy(r->subsystem->nqn, nqn);
	r->section = SUBSYSTEM;
	return true;
}

static bool begin_namespace(struct reader *r)
{
	if (!r->subsystem)
		return fail_line(r, "[namespace] stands before the first [subsystem NQN]");
	if (r->subsystem->namespace_count >= ADV_NVME_LIST_MAX)
		return fail_line(r, "more than %d namespaces", ADV_NVME_LIST_MAX);
	r->namespace = adv_nvme_config_add_namespace(r->subsystem);
	r->section = NAMESPACE;
	return r->namespace || fail_line(r, "no memory");
}

static bool begin_section(struct reader *r, const char *name)
{
	static const char subsystem[] = "subsystem ";

	r->seen = 0;
	if (strcmp(name, "target") == 0) {
		r->section = TARGET;
		return true;
	}
	if (strcmp(name, "namespace") == 0)
		return begin_namespace(r);
	if (strncmp(name, subsystem, strlen(subsystem)) == 0)
		return begin_subsystem(r, name + strlen(subsystem));
	return fail_line(r, "[%s] is none of [target], [subsystem NQN], [namespace]",
			 show_text(name).text);
}

/* --- lines --- */

/* Removes blanks at both ends. */
static char *trim_blanks(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = 0;
	return text;
}

static bool read_line(struct reader *r, char *line)
{
	char *text = trim_blanks(line), *value;
	size_t len = strlen(text);

	if (!text[0] || text[0] == '#')
		return true;
	if (text[0] == '[') {
		if (text[len - 1] != ']')
			return fail_line(r, "the section has no ']'");
		text[len - 1] = 0;
		return begin_section(r, trim_blanks(text + 1));
	}
	value = strchr(text, '=');
	if (!value)
		return fail_line(r, "'%s' is neither KEY = VALUE nor [SECTION]",
				 show_text(text).text);
	*value = 0;
	return read_key(r, trim_blanks(text), trim_blanks(value + 1));
}

bool adv_nvme_config_parse(const char *text, size_t len, struct adv_nvme_config *config,
			   char why[ADV_NVME_CONFIG_WHY])
{
	struct reader r = {.config = config, .why = why};
	char line[LINE_MAX_LEN];
	bool ok = true;

	memset(config, 0, sizeof(*config));
	for (size_t at = 0; ok && at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = (end ? (size_t)(end - text) : len) - at;

		r.line++;
		if (n >= sizeof(line)) {
			ok = fail_line(&r, "it has more than %d characters", LINE_MAX_LEN - 1);
		} else if (memchr(text + at, 0, n)) {
			ok = fail_line(&r, "it has a character 0");
		} else {
			memcpy(line, text + at, n);
			line[n] = 0;
			ok = read_line(&r, line);
		}
		at += n + 1;
	}
	if (!ok)
		adv_nvme_config_free(config);
	return ok;
}

bool adv_nvme_config_read(const char *path, struct adv_nvme_config *config,
			  char why[ADV_NVME_CONFIG_WHY])
{
	FILE *f = fopen(path, "re");
	char *text = malloc(ADV_NVME_CONFIG_MAX + 1);
	size_t len;
	bool ok = false;

	memset(config, 0, sizeof(*config));
	if (!f || !text) {
		snprintf(why, ADV_NVME_CONFIG_WHY, "%s", strerror(errno));
	} else {
		len = fread(text, 1, ADV_NVME_CONFIG_MAX + 1, f);
		if (ferror(f))
			snprintf(why, ADV_NVME_CONFIG_WHY, "%s", strerror(errno));
		else if (len > ADV_NVME_CONFIG_MAX)
			snprintf(why, ADV_NVME_CONFIG_WHY, "it has more than %u bytes",
				 ADV_NVME_CONFIG_MAX);
		else
			ok = adv_nvme_config_parse(text, len, config, why);
	}
	if (f)
		fclose(f);
	free(text);
	return ok;
}

bool adv_nvme_config_complete(const struct adv_nvme_config *config, char why[ADV_NVME_CONFIG_WHY])
{
	for (size_t i = 0; i < config->subsystem_count; i++) {
		const struct adv_nvme_subsystem_settings *s = &config->subsystems[i];

		for (size_t k = 0; k < s->namespace_count; k++) {
			if (s->namespaces[k].path)
				continue;
			snprintf(why, ADV_NVME_CONFIG_WHY,
				 "namespace %zu of subsystem %s has no path", k + 1,
				 show_text(s->nqn).text);
			return false;
		}
	}
	if (config->subsystem_count == 0)
		snprintf(why, ADV_NVME_CONFIG_WHY, "there is no [subsystem NQN]");
	return config->subsystem_count > 0;
}
