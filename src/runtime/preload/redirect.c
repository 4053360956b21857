/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/redirect.h"

#include <string.h>

#include "runtime/identity/sysfs_root.h"

enum node {
	ROOT,
	DEV,
	SYS,
	CLASS,
	DEVICES,
	NET,
	INTERFACE,
	INTERFACE_DEVICE,
	OURS, /* this node and all later ones are redirected */
	DEV_INFINIBAND = OURS,
	CLASS_INFINIBAND,
	CLASS_VERBS,
	DEVICES_ADVERB,
	NET_INFINIBAND,
	NET_VERBS,
	NODES,
};

struct place {
	enum node parent;
	const char *name;   /* NULL: any name */
	const char *folder; /* path of the node; NULL: a symbolic link, or below one */
};

static const struct place places[NODES] = {
	[ROOT] = {ROOT, "", ""},
	[DEV] = {ROOT, "dev", "/dev"},
	[SYS] = {ROOT, "sys", "/sys"},
	[CLASS] = {SYS, "class", "/sys/class"},
	[DEVICES] = {SYS, "devices", "/sys/devices"},
	[NET] = {CLASS, "net", "/sys/class/net"},
	[INTERFACE] = {NET, NULL, NULL},
	[INTERFACE_DEVICE] = {INTERFACE, "device", NULL},
	[DEV_INFINIBAND] = {DEV, "infiniband", "/dev/infiniband"},
	[CLASS_INFINIBAND] = {CLASS, "infiniband", "/sys/class/infiniband"},
	[CLASS_VERBS] = {CLASS, "infiniband_verbs", "/sys/class/infiniband_verbs"},
	[DEVICES_ADVERB] = {DEVICES, "adverb", "/sys/devices/adverb"},
	[NET_INFINIBAND] = {INTERFACE_DEVICE, "infiniband", "/infiniband"},
	[NET_VERBS] = {INTERFACE_DEVICE, "infiniband_verbs", "/infiniband_verbs"},
};

static bool is_link(enum node n)
{
	return n == INTERFACE || n == INTERFACE_DEVICE || n == NET_INFINIBAND || n == NET_VERBS;
}

static bool is_same_name(const char *name, const char *text, size_t len)
{
	return strncmp(name, text, len) == 0 && name[len] == 0;
}

/* Returns the child of this name; NODES: there is none. */
static enum node find_child(enum node parent, const char *text, size_t len)
{
	for (enum node n = DEV; n < NODES; n++)
		if (places[n].parent == parent &&
		    (!places[n].name || is_same_name(places[n].name, text, len)))
			return n;
	return NODES;
}

static const char *skip_slashes(const char *p)
{
	while (*p == '/')
		p++;
	return p;
}

/* True for "uverbsN" and "rdma_cm" without a further component. */
static bool names_device(const char *rest)
{
	const char *uverbs = "uverbs";
	size_t digits;

	if (strcmp(rest, "rdma_cm") == 0)
		return true;
	while (*uverbs)
		if (*rest++ != *uverbs++)
			return false;
	digits = strspn(rest, "0123456789");
	return digits && !rest[digits];
}

static enum adv_redirect_kind fill_found(enum node at, const char *rest, struct adv_redirect *r)
{
	r->folder = places[at].folder;
	r->rest = rest;
	r->device = at == DEV_INFINIBAND && names_device(rest);
	return ADV_REDIRECT_OURS;
}

/* Returns the node that one path component leads to, down or up. NODES: the folder is not in the
 * table. */
static enum node step_to(enum node at, const char *name, size_t len)
{
	if (len == 1 && name[0] == '.')
		return at;
	if (len != 2 || name[0] != '.' || name[1] != '.')
		return find_child(at, name, len);
	return is_link(at) ? NODES : places[at].parent;
}

enum adv_redirect_kind adv_redirect_path(const char *path, struct adv_redirect *r)
{
	enum node at = ROOT;
	const char *p = skip_slashes(path);
	bool through = false;

	r->interface = NULL;
	r->folder = "";
	r->rest = p;
	r->device = false;
	while (*p) {
		size_t len = strcspn(p, "/");
		enum node next = step_to(at, p, len);

		if (next == NODES)
			break;
		if (next == INTERFACE && at == NET) {
			r->interface = p;
			r->interface_len = len;
		}
		at = next;
		p = skip_slashes(p + len);
		if (is_link(at))
			continue;
		r->interface = NULL;
		r->folder = places[at].folder;
		r->rest = p;
		through = through || at >= OURS;
	}
	if (at >= OURS)
		return fill_found(at, p, r);
	if (through)
		return ADV_REDIRECT_THROUGH;
	return *p || is_link(at) ? ADV_REDIRECT_NONE : ADV_REDIRECT_ABOVE;
}

/* Skips "-" and digits. NULL: there are none. */
static const char *skip_number(const char *p)
{
	size_t digits = strspn(p + 1, "0123456789");

	return digits ? p + 1 + digits : NULL;
}

const char *adv_redirect_reverse(const char *path, size_t *root_len)
{
	const char *p = strstr(path, ADV_SYSFS_ROOT_PREFIX);
	size_t digits;

	if (!p || path[0] != '/')
		return NULL;
	p += sizeof(ADV_SYSFS_ROOT_PREFIX) - 1;
	digits = strspn(p, "0123456789");
	if (!digits || p[digits] != '-')
		return NULL;
	p = skip_number(p + digits);
	if (p && *p == '-')
		p = skip_number(p);
	if (!p || (*p && *p != '/'))
		return NULL;
	*root_len = (size_t)(p - path);
	return *p ? p : "/";
}
