/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/identity/rails.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <net/if.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fnv.h"
#include "runtime/identity/roce.h"

/* A text that is being read. */
struct parsing {
	struct adv_rail_list *rails;
	char *why;
	size_t why_len;
};

__attribute__((format(printf, 2, 3))) static bool fail_parsing(const struct parsing *p,
							       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->why, p->why_len, format, args);
	va_end(args);
	return false;
}

/* ---- reading ---- */

/* A name is the name of folders and nodes, and part of texts of tools. */
static bool is_name(const char *name)
{
	if (!*name || *name == '.' || strlen(name) >= ADV_RAIL_NAME_LEN)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("_-.", *name))
			return false;
	return true;
}

static bool is_interface(const char *name)
{
	if (!*name || strlen(name) >= sizeof(((struct adv_rail *)NULL)->ifname))
		return false;
	for (; *name; name++)
		if (isspace((unsigned char)*name) || strchr("/,+=*", *name))
			return false;
	return true;
}

static struct adv_rail *add_rail(const struct parsing *p, const char *name)
{
	struct adv_rail_list *all = p->rails;
	struct adv_rail *r = &all->rail[all->count];

	if (!is_name(name)) {
		fail_parsing(p,
			     "'%s' cannot be the name of a device: letters, digits, '_', '-' and "
			     "'.', at most %d of them",
			     name, ADV_RAIL_NAME_LEN - 1);
		return NULL;
	}
	for (unsigned i = 0; i < all->count; i++) {
		if (strcmp(all->rail[i].name, name) == 0) {
			fail_parsing(p, "two devices have the name %s", name);
			return NULL;
		}
	}
	if (all->count == ADV_RAILS_MAX) {
		fail_parsing(p, "there are more than %d devices", ADV_RAILS_MAX);
		return NULL;
	}
	memset(r, 0, sizeof(*r));
	memcpy(r->name, name, strlen(name) + 1);
	r->index = all->count++;
	return r;
}

/* Adds "adverbN" with the next N. */
static struct adv_rail *add_numbered(const struct parsing *p)
{
	char name[ADV_RAIL_NAME_LEN];

	snprintf(name, sizeof(name), "adverb%u", p->rails->count);
	return add_rail(p, name);
}

static bool read_address(const char *text, struct adv_gid *gid)
{
	char mapped[sizeof("::ffff:") + INET6_ADDRSTRLEN];

	if (!strchr(text, ':')) { /* IPv4 */
		snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
		text = mapped;
	}
	return inet_pton(AF_INET6, text, gid->raw) == 1;
}

/* Reads addresses with a plus in between. */
static bool read_addresses(const struct parsing *p, struct adv_rail *r, char *text)
{
	char *rest = text;

	while (rest) {
		const char *one = strsep(&rest, "+");

		if (r->address_count == ADV_RAIL_ADDRESSES)
			return fail_parsing(p, "device %s has more than %d addresses", r->name,
					    ADV_RAIL_ADDRESSES);
		if (!read_address(one, &r->address[r->address_count++]))
			return fail_parsing(p, "device %s: '%s' is no address", r->name, one);
	}
	return true;
}

static bool set_interface(const struct parsing *p, struct adv_rail *r, const char *name)
{
	if (!is_interface(name))
		return fail_parsing(p, "device %s: '%s' is neither an interface nor an address",
				    r->name, name);
	memcpy(r->ifname, name, strlen(name) + 1);
	return true;
}

/* True if the text is meant as addresses, not as an interface. */
static bool has_address(const char *text)
{
	return strpbrk(text, ":+") || (*text && !text[strspn(text, "0123456789.")]);
}

static bool read_item(const struct parsing *p, char *item)
{
	char *value = strchr(item, '=');
	struct adv_rail *r;

	if (!value) {
		r = add_numbered(p);
		return r && set_interface(p, r, item);
	}
	*value++ = 0;
	r = add_rail(p, item);
	if (!r)
		return false;
	if (strcmp(value, "*") == 0)
		return true;
	return has_address(value) ? read_addresses(p, r, value) : set_interface(p, r, value);
}

static bool add_interfaces(const struct parsing *p, const struct adv_gid_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const char *name = t->entry[i].ifname;
		struct adv_rail *r;
		bool known = false;

		for (unsigned k = 0; k < p->rails->count && !known; k++)
			known = strncmp(p->rails->rail[k].ifname, name, sizeof(r->ifname)) == 0;
		if (known)
			continue;
		r = add_numbered(p);
		if (!r)
			return false;
		memcpy(r->ifname, name, sizeof(r->ifname));
		r->ifname[sizeof(r->ifname) - 1] = 0;
	}
	return p->rails->count > 0 ||
	       fail_parsing(p, "no interface has an address: no device can be made of 'all'");
}

static bool add_count(const struct parsing *p, const char *text)
{
	char *end;
	unsigned long count = strtoul(text, &end, 10);

	if (*end || count < 1 || count > ADV_RAILS_MAX)
		return fail_parsing(p, "the number of devices is between 1 and %d, not %s",
				    ADV_RAILS_MAX, text);
	while (p->rails->count < count)
		(void)add_numbered(p);
	return true;
}

bool adv_rail_list_parse(struct adv_rail_list *rails, const char *text,
			 const struct adv_gid_table *table, char *why, size_t why_len)
{
	const struct parsing p = {rails, why, why_len};
	char copy[ADV_RAILS_TEXT], *rest = copy;

	rails->count = 0;
	if (strlen(text) >= sizeof(copy))
		return fail_parsing(&p, "the list of devices has more than %zu bytes",
				    sizeof(copy) - 1);
	if (strcmp(text, "all") == 0)
		return add_interfaces(&p, table);
	if (isdigit((unsigned char)*text) && !strchr(text, ',') && !strchr(text, '='))
		return add_count(&p, text);
	memcpy(copy, text, strlen(text) + 1);
	while (rest)
		if (!read_item(&p, strsep(&rest, ",")))
			return false;
	return true;
}

/* ---- printing ---- */

/* As adv_gid_text(), which the preloaded library does not have. */
static const char *address_text(const struct adv_gid *gid, char text[INET6_ADDRSTRLEN])
{
	bool ipv4 = adv_gid_is_ipv4(gid);

	return inet_ntop(ipv4 ? AF_INET : AF_INET6, gid->raw + (ipv4 ? 12 : 0), text,
			 INET6_ADDRSTRLEN);
}

bool adv_rail_list_print(const struct adv_rail_list *rails, char *text, size_t len)
{
	size_t at = 0;

	for (unsigned i = 0; i < rails->count && at < len; i++) {
		const struct adv_rail *r = &rails->rail[i];

		at += (size_t)snprintf(text + at, len - at, "%s%s=%s", i ? "," : "", r->name,
				       r->address_count ? ""
				       : *r->ifname	? r->ifname
							: "*");
		for (unsigned k = 0; k < r->address_count && at < len; k++) {
			char one[INET6_ADDRSTRLEN];

			at += (size_t)snprintf(text + at, len - at, "%s%s", k ? "+" : "",
					       address_text(&r->address[k], one));
		}
	}
	return at < len;
}

/* ---- the rails of this process ---- */

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_rail_list own_rails;
static bool own_known;

static const char *own_text(void)
{
	const char *text = getenv(ADV_RAILS_VARIABLE);

	return text && *text ? text : ADV_DEVICE_NAME "=*";
}

bool adv_rail_list_have(const char *name, size_t len)
{
	static const struct adv_gid_table none;
	char why[ADV_RAILS_WHY];
	bool found = false;

	pthread_mutex_lock(&own_lock);
	/* Names that follow from the table are not known before the first adv_rail_list_get(). */
	if (!own_known && !adv_rail_list_parse(&own_rails, own_text(), &none, why, sizeof(why)))
		own_rails.count = 0;
	for (unsigned i = 0; i < own_rails.count && !found; i++)
		found = strlen(own_rails.rail[i].name) == len &&
			memcmp(own_rails.rail[i].name, name, len) == 0;
	pthread_mutex_unlock(&own_lock);
	return found;
}

const struct adv_rail_list *adv_rail_list_get(const struct adv_gid_table *table, char *why,
					      size_t why_len)
{
	char reason[256];

	pthread_mutex_lock(&own_lock);
	if (!own_known)
		own_known =
			adv_rail_list_parse(&own_rails, own_text(), table, reason, sizeof(reason));
	if (!own_known)
		snprintf(why, why_len, ADV_RAILS_VARIABLE ": %s", reason);
	pthread_mutex_unlock(&own_lock);
	return own_known ? &own_rails : NULL;
}

int adv_rail_list_count(struct adv_control *c, const struct adv_rail_list *rails,
			struct adv_counters counters[ADV_RAILS_MAX])
{
	int err = 0;

	if (rails->count == 1)
		return adv_control_counters(c, NULL, &counters[0]);
	for (unsigned i = 0; i < rails->count && !err; i++)
		err = adv_control_counters(c, rails->rail[i].name, &counters[i]);
	return err;
}

/* ---- the table of a rail ---- */

bool adv_rail_has(const struct adv_rail *rail, const struct adv_gid_entry *entry)
{
	if (*rail->ifname)
		return strncmp(rail->ifname, entry->ifname, sizeof(rail->ifname)) == 0;
	for (unsigned i = 0; i < rail->address_count; i++)
		if (adv_gid_equal(&rail->address[i], &entry->gid))
			return true;
	return rail->address_count == 0;
}

/* All processes of a machine make the same GUID from the name. */
uint64_t adv_rail_guid(const struct adv_rail *rail, const struct adv_gid_table *table)
{
	uint64_t guid = adv_fnv_add(ADV_FNV_BASIS, table->node_guid);
	uint8_t raw[8];

	if (strcmp(rail->name, ADV_DEVICE_NAME) == 0)
		return table->node_guid;
	guid = adv_fnv_add_bytes(guid, rail->name, strlen(rail->name));
	memcpy(raw, &guid, sizeof(raw));
	raw[0] = (raw[0] & 0xfc) | 2; /* locally administered, not a group */
	memcpy(&guid, raw, sizeof(guid));
	return guid;
}

void adv_rail_change_table(const struct adv_rail *rail, struct adv_gid_table *table)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < table->count; i++)
		if (adv_rail_has(rail, &table->entry[i]))
			table->entry[count++] = table->entry[i];
	table->count = count;
	table->port_active = count != 0;
	table->active_mtu = count ? table->entry[0].path_mtu : 0;
	table->node_guid = adv_rail_guid(rail, table);
}

void adv_rail_table(const struct adv_rail *rail, const struct adv_gid_table *machine,
		    struct adv_gid_table *table)
{
	memcpy(table, machine, sizeof(*table));
	adv_rail_change_table(rail, table);
	if (adv_transport() == ADV_TRANSPORT_ROCE)
		adv_roce_change_table(table, adv_roce());
}
