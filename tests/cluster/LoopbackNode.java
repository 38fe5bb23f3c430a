import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.index.reindex.ReindexPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.transport.Netty4Plugin;

/**
 * One OpenSearch node in a JVM of its own, for tests: the modules a distribution would load from its folder are named
 * here, and everything else is the server as published. It stops when its standard input ends, so it never outlives
 * the process that started it, whatever happens to that one.
 */
public final class LoopbackNode extends Node {
    private LoopbackNode(Settings settings) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "loopback"),
            List.of(
                Netty4Plugin.class,
                CommonAnalysisPlugin.class,
                MapperExtrasPlugin.class,
                PainlessPlugin.class,
                ReindexPlugin.class
            ),
            true
        );
    }

    /** The one argument is a JSON or YAML file with the node's settings. */
    public static void main(String[] args) {
        try {
            Settings settings = Settings.builder().loadFromPath(Path.of(args[0])).build();
            LoopbackNode node = new LoopbackNode(settings);
            node.start();
            Thread ended = new Thread(() -> {
                try {
                    while (System.in.read() >= 0) {}
                    node.close();
                } catch (Exception e) {
                    e.printStackTrace();
                }
                Runtime.getRuntime().halt(0);
            });
            ended.start();
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }
}
