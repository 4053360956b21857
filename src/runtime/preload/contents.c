/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text formats are those of the Linux kernel: drivers/infiniband/core/sysfs.c and uverbs_main.c. */
#include "runtime/preload/contents.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/sys.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/hw_counters.h"
#include "runtime/preload/uverbs_node.h"

#define PATH_ROOM 320

#define DEVICES	  "sys/devices/adverb" /* folder of the only device; of one folder each */

/* One device, while its files are written. */
struct card {
	struct adv_files *f;
	const struct adv_rail *rail;
	const struct adv_gid_table *gids;
	char device[96];		   /* its folder ... */
	char up[sizeof("../../../../..")]; /* ... and the way from a folder in it to sys/ */
	char ibdev[176];
	char port[192];
};

/* ---- folders ---- */

static void write_folder(struct adv_files *f, const char *at, const char *name)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s%s", at, name);
	adv_files_folder(f, path);
}

static void write_common_folders(struct adv_files *f)
{
	static const char *const folders[] = {
		"sys",
		"sys/class",
		"sys/class/infiniband",
		"sys/class/infiniband_verbs",
		"sys/devices",
		DEVICES,
		ADV_CONTENTS_BY_NET,
		"dev",
		"dev/infiniband",
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(folders); i++)
		adv_files_folder(f, folders[i]);
}

static void write_card_folders(const struct card *c)
{
	static const char *const of_device[] = {"", "/infiniband", "/infiniband_verbs", "/net"};
	static const char *const of_ibdev[] = {"", "/ports"};
	static const char *const of_port[] = {"",
					      "/gids",
					      "/pkeys",
					      "/gid_attrs",
					      "/gid_attrs/types",
					      "/gid_attrs/ndevs",
					      "/counters",
					      "/hw_counters"};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(of_device); i++)
		write_folder(c->f, c->device, of_device[i]);
	for (size_t i = 0; i < ADV_ARRAY_SIZE(of_ibdev); i++)
		write_folder(c->f, c->ibdev, of_ibdev[i]);
	for (size_t i = 0; i < ADV_ARRAY_SIZE(of_port); i++)
		write_folder(c->f, c->port, of_port[i]);
}

/* ---- the kernel's files in the same folders ---- */

struct beside {
	struct adv_files *f;
	const char *folder; /* relative to "/" and to the root of the tree */
};

/* Writes a link for a file of the kernel. If the file is a relative link, copies it: its target is
 * mirrored too. Otherwise makes a link to the file. */
static void mirror_entry(void *user, const char *name)
{
	const struct beside *b = user;
	char path[PATH_ROOM], mine[PATH_ROOM], target[PATH_ROOM];
	struct stat st;
	long n;

	if (adv_rail_list_have(name, strlen(name)))
		return;
	if (snprintf(path, sizeof(path), "/%s/%s", b->folder, name) >= (int)sizeof(path))
		return;
	snprintf(mine, sizeof(mine), "%s", path + 1);
	/* The files that Adverb has written are not replaced. */
	if (syscall(SYS_newfstatat, b->f->root, mine, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !S_ISLNK(st.st_mode))
		return;
	n = syscall(SYS_readlinkat, AT_FDCWD, path, target, sizeof(target) - 1);
	if (n > 0)
		target[n] = 0;
	adv_files_link(b->f, mine, n > 0 && target[0] != '/' ? target : path);
}

static void mirror_folder(struct adv_files *f, const char *folder)
{
	struct beside b = {f, folder};
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "/%s", folder);
	adv_files_list(AT_FDCWD, path, mirror_entry, &b);
}

/* What belongs in a folder beside the kernel's files. */
struct names {
	const char *folder;
	const struct adv_rail_list *rails;
	bool nodes;	   /* the files have the names of uverbs nodes, not of devices */
	const char *other; /* one more file */
};

static bool is_ours(const struct names *n, const char *name)
{
	char node[ADV_UVERBS_NAME_LEN];

	if (n->other && strcmp(name, n->other) == 0)
		return true;
	for (unsigned i = 0; i < n->rails->count; i++) {
		adv_uverbs_name(i, node);
		if (strcmp(name, n->nodes ? node : n->rails->rail[i].name) == 0)
			return true;
	}
	return false;
}

static bool ours_or_kernels(const void *user, const char *name)
{
	const struct names *n = user;
	char path[PATH_ROOM];

	if (is_ours(n, name))
		return true;
	snprintf(path, sizeof(path), "/%s/%s", n->folder, name);
	return syscall(SYS_readlinkat, AT_FDCWD, path, path, 1) >= 0 ||
	       syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

static void write_beside(struct adv_files *f, const struct adv_rail_list *rails)
{
	const struct names folders[] = {
		{"sys/class/infiniband", rails, false, NULL},
		{"sys/class/infiniband_verbs", rails, true, "abi_version"},
		{"dev/infiniband", rails, true, "rdma_cm"},
	};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(folders); i++)
		adv_files_sweep(f, folders[i].folder, ours_or_kernels, &folders[i]);
	mirror_folder(f, "sys");
	mirror_folder(f, "sys/class");
	mirror_folder(f, "sys/devices");
	for (size_t i = 0; i < ADV_ARRAY_SIZE(folders); i++)
		mirror_folder(f, folders[i].folder);
}

/* ---- the device ---- */

static void read_line(const char *path, char *line, size_t len)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : adv_sys_read(fd, line, len - 1);

	if (fd >= 0)
		adv_sys_close(fd);
	line[n > 0 ? n : 0] = 0;
	line[strcspn(line, "\n")] = 0;
}

/* Converts "0-3,6" to a mask of 32-bit words, the highest first: "0000004f". */
static void write_cpu_mask(const char *list, char *mask, size_t len)
{
	uint32_t words[64] = {0};
	int top = 0;

	while (*list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (unsigned long i = first; i <= last && i < 64 * 32; i++) {
			words[i / 32] |= 1u << i % 32;
			top = (int)(i / 32) > top ? (int)(i / 32) : top;
		}
		if (*end != ',')
			break;
		list = end + 1;
	}
	*mask = 0;
	for (int i = top; i >= 0; i--) {
		size_t at = strlen(mask);

		snprintf(mask + at, len - at, "%08x%s", words[i], i ? "," : "");
	}
}

static bool wanted_interface(const void *user, const char *name)
{
	const struct adv_gid_table *t = user;

	for (uint32_t i = 0; i < t->count; i++)
		if (strncmp(t->entry[i].ifname, name, sizeof(t->entry[i].ifname)) == 0)
			return true;
	return false;
}

/* Formats a path below a folder of the device. Returns `room`. */
__attribute__((format(printf, 3, 4))) static const char *
path_at(char room[PATH_ROOM], const char *folder, const char *format, ...)
{
	size_t len = (size_t)snprintf(room, PATH_ROOM, "%s/", folder);
	va_list args;

	va_start(args, format);
	vsnprintf(room + len, PATH_ROOM - len, format, args);
	va_end(args);
	return room;
}

/* Writes a line to a file below a folder of the device. */
__attribute__((format(printf, 4, 5))) static void
write_line(struct adv_files *f, const char *folder, const char *name, const char *format, ...)
{
	char path[PATH_ROOM], line[PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	adv_files_text(f, path_at(path, folder, "%s", name), "%s\n", line);
}

/* Links the interfaces of the device's GIDs, and them to the device: an interface leads to the
 * first device that has an address of it. */
static void write_interfaces(const struct card *c)
{
	const struct adv_gid_table *t = c->gids;
	char path[PATH_ROOM], target[PATH_ROOM];

	adv_files_sweep(c->f, path_at(path, c->device, "net"), wanted_interface, t);
	for (uint32_t i = 0; i < t->count; i++) {
		snprintf(target, sizeof(target), "/sys/class/net/%.16s", t->entry[i].ifname);
		adv_files_link(c->f, path_at(path, c->device, "net/%.16s", t->entry[i].ifname),
			       target);
		snprintf(target, sizeof(target), "../%s", c->device);
		adv_files_link(c->f,
			       path_at(path, ADV_CONTENTS_BY_NET, "%.16s", t->entry[i].ifname),
			       target);
	}
}

/* Writes the files that a card has in the folder of its PCI device. The NUMA node is -1: no node is
 * nearer than another. */
static void write_device(const struct card *c)
{
	char list[512], mask[64 * 9 + 1];

	read_line("/sys/devices/system/cpu/online", list, sizeof(list));
	write_cpu_mask(list, mask, sizeof(mask));
	write_line(c->f, c->device, "vendor", "0x%04x", ADV_VENDOR_ID & 0xffff);
	write_line(c->f, c->device, "device", "0x%04x", ADV_VENDOR_PART_ID);
	write_line(c->f, c->device, "numa_node", "-1");
	write_line(c->f, c->device, "local_cpus", "%s", mask);
	write_line(c->f, c->device, "local_cpulist", "%s", list);
	write_interfaces(c);
}

static void write_guid(const struct card *c, const char *name)
{
	uint8_t b[8];

	memcpy(b, &c->gids->node_guid, sizeof(b));
	write_line(c->f, c->ibdev, name, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2],
		   b[3], b[4], b[5], b[6], b[7]);
}

static void write_ibdev(const struct card *c)
{
	char host[65] = "", path[PATH_ROOM], target[PATH_ROOM];

	read_line("/proc/sys/kernel/hostname", host, sizeof(host));
	write_line(c->f, c->ibdev, "node_type",
		   adv_transport() == ADV_TRANSPORT_IWARP ? "4: RNIC" : "1: CA");
	write_guid(c, "node_guid");
	write_guid(c, "sys_image_guid");
	write_line(c->f, c->ibdev, "node_desc", "%.48s %s", host, c->rail->name);
	write_line(c->f, c->ibdev, "fw_ver", ADV_FW_VER);
	write_line(c->f, c->ibdev, "hca_type", "adverb");
	write_line(c->f, c->ibdev, "board_id", "adverb");
	write_line(c->f, c->ibdev, "hw_rev", "%x", ADV_HW_VER);
	snprintf(target, sizeof(target), "../../../%s", strrchr(c->device, '/') + 1);
	adv_files_link(c->f, path_at(path, c->ibdev, "device"), target);
	snprintf(target, sizeof(target), "%s/class/infiniband", c->up);
	adv_files_link(c->f, path_at(path, c->ibdev, "subsystem"), target);
	snprintf(target, sizeof(target), "../../%s", c->ibdev + strlen("sys/"));
	adv_files_link(c->f, path_at(path, "sys/class/infiniband", "%s", c->rail->name), target);
}

static void write_uverbs(const struct card *c)
{
	char name[ADV_UVERBS_NAME_LEN], folder[PATH_ROOM], path[PATH_ROOM];
	char target[PATH_ROOM + 8];

	adv_uverbs_name(c->rail->index, name);
	adv_files_folder(c->f, path_at(folder, c->device, "infiniband_verbs/%s", name));
	write_line(c->f, folder, "ibdev", "%s", c->rail->name);
	write_line(c->f, folder, "dev", "%u:%u", ADV_UVERBS_NODE_MAJOR,
		   adv_uverbs_node_minor(name));
	write_line(c->f, folder, "abi_version", "1");
	snprintf(target, sizeof(target), "../../../%s", strrchr(c->device, '/') + 1);
	adv_files_link(c->f, path_at(path, folder, "device"), target);
	snprintf(target, sizeof(target), "%s/class/infiniband_verbs", c->up);
	adv_files_link(c->f, path_at(path, folder, "subsystem"), target);
	snprintf(target, sizeof(target), "../../%s", folder + strlen("sys/"));
	adv_files_link(c->f, path_at(path, "sys/class/infiniband_verbs", "%s", name), target);
	/* The file is for listings only: lookup.c handles access to the node. */
	adv_files_link(c->f, path_at(path, "dev/infiniband", "%s", name), "/dev/null");
}

/* ---- the port ---- */

static void write_rate(const struct card *c, uint32_t mbps)
{
	static const struct {
		uint8_t code;
		const char *name;
	} speeds[] = {{1, ""}, {8, " FDR10"}, {32, " EDR"}, {64, " HDR"}, {128, " NDR"}};
	uint8_t width, speed;
	unsigned lanes, i = 0, tenths = adv_identity_shown_mbps(mbps) / 100;

	adv_identity_speed(mbps, &width, &speed);
	while (i < ADV_ARRAY_SIZE(speeds) - 1 && speeds[i].code != speed)
		i++;
	lanes = width == 2 ? 4 : width == 16 ? 2 : 1;
	write_line(c->f, c->port, "rate", "%u%s Gb/sec (%uX%s)", tenths / 10,
		   tenths % 10 ? ".5" : "", lanes, speeds[i].name);
}

static bool wanted_pkey(const void *user, const char *name)
{
	const struct adv_pkey_table *t = user;

	return strtoul(name, NULL, 10) < t->count;
}

static void write_pkeys(const struct card *c)
{
	const struct adv_pkey_table *t = &c->gids->pkeys;
	char path[PATH_ROOM], name[32];

	adv_files_sweep(c->f, path_at(path, c->port, "pkeys"), wanted_pkey, t);
	for (uint32_t i = 0; i < t->count; i++) {
		snprintf(name, sizeof(name), "pkeys/%u", i);
		write_line(c->f, c->port, name, "0x%04x", t->pkey[i]);
	}
}

static void write_port(const struct card *c)
{
	const struct adv_gid_table *t = c->gids;

	write_line(c->f, c->port, "state", t->port_active ? "4: ACTIVE" : "1: DOWN");
	write_line(c->f, c->port, "phys_state", t->port_active ? "%u: LinkUp" : "%u: Disabled",
		   t->port_active ? ADV_PHYS_LINK_UP : ADV_PHYS_DISABLED);
	write_rate(c, t->count ? t->entry[0].speed_mbps : 0);
	write_line(c->f, c->port, "link_layer", "Ethernet");
	write_line(c->f, c->port, "lid", "0x0");
	write_line(c->f, c->port, "lid_mask_count", "0");
	write_line(c->f, c->port, "sm_lid", "0x0");
	write_line(c->f, c->port, "sm_sl", "0");
	write_line(c->f, c->port, "cap_mask", "0x%08x", ADV_PORT_CAP_FLAGS);
	write_pkeys(c);
}

static bool wanted_index(const void *user, const char *name)
{
	const struct adv_gid_table *t = user;

	return strtoul(name, NULL, 10) < t->count;
}

static void write_gid(const struct card *c, uint32_t index, const struct adv_gid_entry *e)
{
	char name[64], text[40];

	for (int i = 0; i < 8; i++)
		snprintf(text + 5 * i, 6, "%02x%02x%s", e->gid.raw[2 * i], e->gid.raw[2 * i + 1],
			 i < 7 ? ":" : "");
	snprintf(name, sizeof(name), "gids/%u", index);
	write_line(c->f, c->port, name, "%s", text);
	snprintf(name, sizeof(name), "gid_attrs/types/%u", index);
	write_line(c->f, c->port, name, e->type == ADV_GID_ROCE_V1 ? "IB/RoCE v1" : "RoCE v2");
	snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", index);
	write_line(c->f, c->port, name, "%.16s", e->ifname);
}

static void write_gids(const struct card *c)
{
	static const char *const folders[] = {"gids", "gid_attrs/types", "gid_attrs/ndevs"};
	struct adv_gid_table *t = malloc(sizeof(*t));
	char path[PATH_ROOM];

	if (!t)
		return;
	memcpy(t, c->gids, sizeof(*t));
	if (adv_transport() == ADV_TRANSPORT_IWARP)
		adv_gid_table_to_mac(t);
	for (size_t i = 0; i < ADV_ARRAY_SIZE(folders); i++)
		adv_files_sweep(c->f, path_at(path, c->port, "%s", folders[i]), wanted_index, t);
	for (uint32_t i = 0; i < t->count; i++)
		write_gid(c, i, &t->entry[i]);
	free(t);
}

/* ---- counters ---- */

static void write_counters(const struct card *c, const struct adv_counters *counters)
{
	char name[PATH_ROOM / 2];
	const char *counter;
	uint64_t value;

	for (unsigned i = 0; (counter = adv_hw_counter_of_port(counters, i, &value)); i++) {
		snprintf(name, sizeof(name), "counters/%s", counter);
		write_line(c->f, c->port, name, "%" PRIu64, value);
	}
	for (unsigned i = 0; (counter = adv_hw_counter(counters, i, &value)); i++) {
		snprintf(name, sizeof(name), "hw_counters/%s", counter);
		write_line(c->f, c->port, name, "%" PRIu64, value);
	}
}

/* ---- all ---- */

static void write_card(struct adv_files *f, const struct adv_contents *all, unsigned index,
		       struct adv_gid_table *gids)
{
	struct card c = {.f = f, .rail = &all->rails->rail[index], .gids = gids};
	bool only = all->rails->count == 1;

	adv_rail_table(c.rail, &all->machine, gids);
	snprintf(c.device, sizeof(c.device), "%s%s%s", DEVICES, only ? "" : "/",
		 only ? "" : c.rail->name);
	snprintf(c.up, sizeof(c.up), "%s", only ? "../../../.." : "../../../../..");
	snprintf(c.ibdev, sizeof(c.ibdev), "%s/infiniband/%s", c.device, c.rail->name);
	snprintf(c.port, sizeof(c.port), "%s/ports/1", c.ibdev);
	write_card_folders(&c);
	write_device(&c);
	write_ibdev(&c);
	write_uverbs(&c);
	write_port(&c);
	write_gids(&c);
	if (all->counted)
		write_counters(&c, &all->counters[index]);
}

void adv_contents_write(struct adv_files *f, const struct adv_contents *c)
{
	struct adv_gid_table *gids = malloc(sizeof(*gids));

	write_common_folders(f);
	/* The first device of an interface comes last, and stays. */
	for (unsigned i = c->rails->count; gids && i-- > 0;)
		write_card(f, c, i, gids);
	free(gids);
	adv_files_text(f, "sys/class/infiniband_verbs/abi_version", "6\n");
	adv_files_link(f, "dev/infiniband/rdma_cm", "/dev/null");
	write_beside(f, c->rails);
}
