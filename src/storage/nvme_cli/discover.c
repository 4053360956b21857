/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* adverb nvme discover, identify and list. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/nvme/log_page.h"
#include "storage/nvme_cli/command.h"
#include "storage/nvme_cli/host_command.h"

enum { RECORDS_MAX = 1024 };

/* Returns the entries of the discovery log; the caller frees them. NULL: prints the reason. */
static struct adv_nvme_discovery_entry *read_log(struct adv_nvme_association *a, uint64_t *count)
{
	struct adv_nvme_get_log log = {.id = ADV_NVME_LOG_DISCOVERY,
				       .length = ADV_NVME_DISCOVERY_LEN};
	struct adv_nvme_command command = {0};
	struct adv_nvme_discovery_entry *entries;
	struct adv_nvme_discovery_header header;

	adv_nvme_get_log_encode(&log, &command);
	if (!adv_nvme_cli_admin(a, &command, log.length))
		return NULL;
	if (!adv_nvme_discovery_header_decode(adv_nvme_association_memory(a), &header) ||
	    header.records > RECORDS_MAX) {
		fprintf(stderr, "the discovery log has a format that is not supported\n");
		return NULL;
	}
	entries = calloc(header.records + 1, sizeof(*entries));
	for (*count = 0; entries && *count < header.records; ++*count) {
		log.offset = (1 + *count) * ADV_NVME_DISCOVERY_LEN;
		adv_nvme_get_log_encode(&log, &command);
		if (!adv_nvme_cli_admin(a, &command, log.length)) {
			free(entries);
			return NULL;
		}
		adv_nvme_discovery_entry_decode(adv_nvme_association_memory(a), &entries[*count]);
	}
	return entries;
}

static struct adv_nvme_discovery_entry *read_discovery(const struct adv_nvme_host_options *o,
						       uint64_t *count)
{
	struct adv_nvme_association *a =
		adv_nvme_cli_connect(o, ADV_NVME_DISCOVERY_NQN, 0, ADV_NVME_IDENTIFY_LEN);
	struct adv_nvme_discovery_entry *entries = a ? read_log(a, count) : NULL;

	if (a)
		adv_nvme_association_close(a);
	return entries;
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void add_number(struct json_object *object, const char *key, uint64_t number)
{
	json_object_object_add(object, key, json_object_new_uint64(number));
}

static void print_json(struct json_object *top)
{
	puts(json_object_to_json_string_ext(top, JSON_C_TO_STRING_PRETTY |
							 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(top);
}

static const char *subtype_name(uint8_t subtype)
{
	switch (subtype) {
	case ADV_NVME_SUBTYPE_REFERRAL:
		return "discovery subsystem referral";
	case ADV_NVME_SUBTYPE_NVM:
		return "nvme subsystem";
	case 3:
		return "current discovery subsystem";
	default:
		return "unrecognized";
	}
}

static const char *transport_name(uint8_t trtype)
{
	return trtype == ADV_NVME_TRANSPORT_RDMA ? "rdma" : trtype == 3 ? "tcp" : "other";
}

static const char *family_name(uint8_t adrfam)
{
	return adrfam == ADV_NVME_IPV4 ? "ipv4" : adrfam == ADV_NVME_IPV6 ? "ipv6" : "other";
}

/* Texts of a target go to a terminal: control characters do not. */
static void make_printable(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text == 127)
			*text = '?';
	}
}

static void print_entries(struct adv_nvme_discovery_entry *entries, uint64_t count, bool json)
{
	struct json_object *top = json_object_new_object(), *records = json_object_new_array();

	for (uint64_t i = 0; i < count; i++) {
		struct adv_nvme_discovery_entry *e = &entries[i];
		struct json_object *record = json_object_new_object();

		make_printable(e->subnqn);
		make_printable(e->traddr);
		make_printable(e->trsvcid);
		if (!json)
			printf("=====Discovery Log Entry %llu======\ntrtype:  %s\nadrfam:  %s\n"
			       "subtype: %s\nportid:  %u\ntrsvcid: %s\nsubnqn:  %s\ntraddr:  %s\n",
			       (unsigned long long)i, transport_name(e->trtype),
			       family_name(e->adrfam), subtype_name(e->subtype), e->portid,
			       e->trsvcid, e->subnqn, e->traddr);
		add_text(record, "trtype", transport_name(e->trtype));
		add_text(record, "adrfam", family_name(e->adrfam));
		add_text(record, "subtype", subtype_name(e->subtype));
		add_number(record, "portid", e->portid);
		add_text(record, "trsvcid", e->trsvcid);
		add_text(record, "subnqn", e->subnqn);
		add_text(record, "traddr", e->traddr);
		json_object_array_add(records, record);
	}
	json_object_object_add(top, "records", records);
	if (json)
		print_json(top);
	else
		json_object_put(top);
}

int adv_nvme_discover_main(int argc, char **argv)
{
	struct adv_nvme_discovery_entry *entries;
	struct adv_nvme_host_options o;
	uint64_t count;

	adv_options_parse(&adv_nvme_discover_syntax, argc, argv, &o);
	entries = read_discovery(&o, &count);
	if (!entries)
		return EXIT_FAILURE;
	print_entries(entries, count, o.json);
	free(entries);
	return EXIT_SUCCESS;
}

/* --- identify --- */

static void describe_controller(struct json_object *top, const struct adv_nvme_host *host)
{
	struct adv_nvme_identify_controller c = host->controller;

	make_printable(c.serial);
	make_printable(c.model);
	make_printable(c.firmware);
	make_printable(c.subnqn);
	add_text(top, "sn", c.serial);
	add_text(top, "mn", c.model);
	add_text(top, "fr", c.firmware);
	add_text(top, "subnqn", c.subnqn);
	add_number(top, "cntlid", c.cntlid);
	add_number(top, "ver", c.ver);
	add_number(top, "mdts", c.mdts);
	add_number(top, "nn", c.nn);
	add_number(top, "oncs", c.oncs);
	add_number(top, "vwc", c.vwc);
	add_number(top, "sgls", c.sgls);
	add_number(top, "ioccsz", c.ioccsz);
	add_number(top, "iorcsz", c.iorcsz);
	add_number(top, "maxcmd", c.maxcmd);
	add_number(top, "kas", c.kas);
}

static void describe_namespace(struct json_object *top, uint32_t nsid,
			       const struct adv_nvme_identify_namespace *ns)
{
	add_number(top, "nsid", nsid);
	add_number(top, "nsze", ns->nsze);
	add_number(top, "ncap", ns->ncap);
	add_number(top, "nuse", ns->nuse);
	add_number(top, "block_size", 1u << ns->block_shift);
	add_number(top, "nsattr", ns->nsattr);
}

static void print_text(struct json_object *top)
{
	json_object_object_foreach(top, key, value)
	{
		printf("%-10s : %s\n", key, json_object_get_string(value));
	}
	json_object_put(top);
}

int adv_nvme_identify_main(int argc, char **argv)
{
	struct adv_nvme_identify_namespace ns;
	struct adv_nvme_association *a;
	struct adv_nvme_host_options o;
	struct json_object *top;
	bool ok;

	adv_options_parse(&adv_nvme_identify_syntax, argc, argv, &o);
	a = adv_nvme_cli_connect(&o, o.nqn, 0, ADV_NVME_IDENTIFY_LEN);
	if (!a)
		return EXIT_FAILURE;
	ok = adv_nvme_cli_namespace(a, o.nsid, &ns);
	if (ok) {
		top = json_object_new_object();
		describe_controller(top, adv_nvme_association_host(a));
		describe_namespace(top, o.nsid, &ns);
		if (o.json)
			print_json(top);
		else
			print_text(top);
	}
	adv_nvme_association_close(a);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- list --- */

/* Adds the namespaces of a subsystem. False: prints the reason. */
static bool list_subsystem(const struct adv_nvme_host_options *o, const char *nqn,
			   struct json_object *list)
{
	struct adv_nvme_command command = {.opcode = ADV_NVME_IDENTIFY};
	struct adv_nvme_association *a = adv_nvme_cli_connect(o, nqn, 0, ADV_NVME_IDENTIFY_LEN);
	struct adv_nvme_identify_namespace ns;
	uint32_t nsids[ADV_NVME_LIST_MAX];
	size_t count;
	bool ok;

	if (!a)
		return false;
	ADV_NVME_CDW(&command, 10) = ADV_NVME_CNS_ACTIVE_LIST;
	ok = adv_nvme_cli_admin(a, &command, ADV_NVME_IDENTIFY_LEN);
	count = ok ? adv_nvme_identify_list_decode(adv_nvme_association_memory(a), nsids) : 0;
	for (size_t i = 0; i < count && ok; i++) {
		struct json_object *row = json_object_new_object();

		ok = adv_nvme_cli_namespace(a, nsids[i], &ns);
		add_text(row, "subnqn", nqn);
		describe_namespace(row, nsids[i], &ns);
		json_object_array_add(list, row);
		if (ok && !o->json)
			printf("%-48s %6u %20llu %6u\n", nqn, nsids[i],
			       (unsigned long long)(ns.nsze << ns.block_shift),
			       1u << ns.block_shift);
	}
	adv_nvme_association_close(a);
	return ok;
}

int adv_nvme_list_main(int argc, char **argv)
{
	struct json_object *list = json_object_new_array();
	struct adv_nvme_discovery_entry *entries;
	struct adv_nvme_host_options o;
	uint64_t count = 0;
	bool ok;

	adv_options_parse(&adv_nvme_discover_syntax, argc, argv, &o);
	entries = read_discovery(&o, &count);
	ok = entries != NULL;
	if (ok && !o.json)
		printf("%-48s %6s %20s %6s\n", "Subsystem", "NSID", "Bytes", "Block");
	for (uint64_t i = 0; i < count && ok; i++) {
		make_printable(entries[i].subnqn);
		if (entries[i].subtype == ADV_NVME_SUBTYPE_NVM)
			ok = list_subsystem(&o, entries[i].subnqn, list);
	}
	free(entries);
	if (ok && o.json)
		print_json(list);
	else
		json_object_put(list);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
