#pragma once

/* The scenarios of faults that RBD and CephFS have in common. */
#include "tests/unit/test_faults_fixture.h"

TEST(creation_survives_every_fault)
{
    check(&(struct scenario){.title = "CreateVolume", .tested = create_volume});
}

TEST(deletion_survives_every_fault)
{
    check(&(struct scenario){.title = "DeleteVolume",
                             .before = {create_volume},
                             .tested = delete_volume,
                             .ends_empty = true});
}

TEST(snapshot_survives_every_fault)
{
    check(&(struct scenario){
        .title = "CreateSnapshot", .before = {create_volume}, .tested = create_snapshot});
}

TEST(snapshot_deletion_survives_every_fault)
{
    check(&(struct scenario){.title = "DeleteSnapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = delete_snapshot,
                             .after = {delete_volume},
                             .ends_empty = true});
}

TEST(larger_restore_survives_every_fault)
{
    check(&(struct scenario){.title = "CreateVolume from a snapshot",
                             .before = {create_volume, create_snapshot},
                             .tested = restore});
}

TEST(larger_clone_survives_every_fault)
{
    check(&(struct scenario){.title = "CreateVolume from a volume",
                             .before = {create_volume},
                             .tested = clone_volume,
                             .after = {delete_volume, delete_second},
                             .ends_empty = true});
}

TEST(group_snapshot_survives_every_fault)
{
    check(&(struct scenario){.title = "CreateVolumeGroupSnapshot",
                             .before = {create_volume, create_second},
                             .tested = create_group,
                             .after = {delete_group, delete_volume, delete_second},
                             .ends_empty = true});
}

TEST(group_deletion_survives_every_fault)
{
    check(&(struct scenario){.title = "DeleteVolumeGroupSnapshot",
                             .before = {create_volume, create_second, create_group},
                             .tested = delete_group,
                             .after = {delete_volume, delete_second},
                             .ends_empty = true});
}

TEST(expansion_survives_every_fault)
{
    check(&(struct scenario){
        .title = "ControllerExpandVolume", .before = {create_volume}, .tested = expand});
}
